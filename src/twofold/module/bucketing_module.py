"""`BucketingModule`: modules for inputs of different lengths, of one symbol each, that share their parameters."""
