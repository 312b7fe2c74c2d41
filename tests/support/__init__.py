"""What tests share: small tasks, hand-written SAS files, random states."""
