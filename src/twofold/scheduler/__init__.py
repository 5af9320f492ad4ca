"""What happens when: who is told of what runs."""
