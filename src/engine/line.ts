/** One place in a {@link Line}. */
export interface Place<T> {
  readonly value: T;
}

class Node<T> implements Place<T> {
  readonly value: T;
  previous: Node<T> | undefined;
  next: Node<T> | undefined;

  constructor(value: T) {
    this.value = value;
  }
}

/** First come, first served; whoever stands anywhere in it can leave at once, however long it is. */
export class Line<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;

  get first(): T | undefined {
    return this.#first?.value;
  }

  get empty(): boolean {
    return this.#first === undefined;
  }

  push(value: T): Place<T> {
    const node = new Node(value);
    node.previous = this.#last;
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
    return node;
  }

  shift(): T | undefined {
    const node = this.#first;
    if (node !== undefined) this.#unlink(node);
    return node?.value;
  }

  /** Leaves; the place must be one that this line gave and that has not left it. */
  remove(place: Place<T>): void {
    if (place instanceof Node) this.#unlink(place);
  }

  #unlink(node: Node<T>): void {
    if (node.previous === undefined) this.#first = node.next;
    else node.previous.next = node.next;
    if (node.next === undefined) this.#last = node.previous;
    else node.next.previous = node.previous;
    node.previous = undefined;
    node.next = undefined;
  }
}
