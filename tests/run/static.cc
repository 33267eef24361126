// A program without a dynamic loader.
int main() { return 5; }
