"""Small policies that we wrote ourselves, some with planted bugs. The first comment of each file says what it does."""
