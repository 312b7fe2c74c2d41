"""Train policies, test them during the training, and choose among the results."""
