"""Before and after the vote: whose neighbours are kept, and how closely images are looked at."""
