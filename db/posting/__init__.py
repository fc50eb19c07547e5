"""News and posts: feeds, stories, subscriptions, deliveries and the process that decides them."""
