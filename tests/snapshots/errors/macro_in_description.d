pid$targt:::entry { }
