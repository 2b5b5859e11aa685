// What is said to whom and when, a folder for each producer. See docs/modules.md.
