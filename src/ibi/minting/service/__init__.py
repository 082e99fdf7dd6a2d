"""Services of minting."""
