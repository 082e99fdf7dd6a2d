"""Claims between Archives: the inbox, the claims that items here make elsewhere, and the outgoing notifications."""
