"""Claims between Archives that items are related."""
