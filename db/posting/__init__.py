"""News and posts: feeds, stories, subscriptions, what is owed to whom and who decides it."""
