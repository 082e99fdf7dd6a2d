"""What tests share: servers, Archives and resolvers that do as they are told, and adapters in memory."""
