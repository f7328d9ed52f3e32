/** What is left of a text with errors of syntax once they are recovered from: parts may be missing anywhere. */

/** A token that was read, or made up where one was missing. */
export interface Leaf {
  readonly text: string
  readonly start: number
}

type Maybe<T> = T | undefined

interface Rule {
  readonly start: number
}

export interface ConditionalNode extends Rule {
  readonly rule: 'conditional'
  e?: SyntaxNode
  op?: Leaf
  e1?: SyntaxNode
  e2?: SyntaxNode
}

/** A chain of `||` or `&&`. */
export interface LogicNode extends Rule {
  readonly rule: 'or' | 'and'
  e?: SyntaxNode
  readonly ops: Leaf[]
  readonly rest: SyntaxNode[]
}

/** `left op right`, where the operator binds as a relation, a sum or a product. */
export interface BinaryNode extends Rule {
  readonly rule: 'binary'
  readonly left: Maybe<SyntaxNode>
  op?: Leaf
  right?: SyntaxNode
}

export interface UnaryNode extends Rule {
  readonly rule: 'not' | 'negate'
  readonly ops: Leaf[]
  member?: SyntaxNode
}

export interface SelectNode extends Rule {
  readonly rule: 'select'
  readonly operand: Maybe<SyntaxNode>
  op?: Leaf
  optional?: Leaf
  name?: NameNode
}

export interface MemberCallNode extends Rule {
  readonly rule: 'memberCall'
  readonly operand: Maybe<SyntaxNode>
  name?: Leaf
  open?: Leaf
  args?: readonly SyntaxNode[]
}

export interface IndexNode extends Rule {
  readonly rule: 'index'
  readonly operand: Maybe<SyntaxNode>
  op?: Leaf
  optional?: Leaf
  index?: SyntaxNode
}

export interface IdentNode extends Rule {
  readonly rule: 'ident'
  leadingDot?: Leaf
  name?: Leaf
}

export interface CallNode extends Rule {
  readonly rule: 'call'
  leadingDot?: Leaf
  name?: Leaf
  open?: Leaf
  args?: readonly SyntaxNode[]
}

export interface ListNode extends Rule {
  readonly rule: 'list'
  open?: Leaf
  elements?: readonly OptionalNode[]
}

/** Names or keys with what they stand for; of the last pair parts may be missing. */
export interface Pairs<Key> {
  readonly keys: Key[]
  readonly colons: Leaf[]
  readonly values: SyntaxNode[]
}

export interface MapNode extends Rule {
  readonly rule: 'map'
  open?: Leaf
  entries?: Pairs<OptionalNode>
}

export interface ObjectNode extends Rule {
  readonly rule: 'object'
  leadingDot?: Leaf
  readonly names: Leaf[]
  open?: Leaf
  fields?: Pairs<FieldNode>
}

export interface LiteralNode extends Rule {
  readonly rule: 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'true' | 'false' | 'null'
  sign?: Leaf
  token?: Leaf
}

/** A rule that came to nothing. */
export interface EmptyNode extends Rule {
  readonly rule: 'empty'
}

/** An element or key with or without a question mark. */
export interface OptionalNode extends Rule {
  optional?: Leaf
  e?: SyntaxNode
}

export interface NameNode extends Rule {
  leaf?: Leaf
  escaped: boolean
}

export interface FieldNode extends Rule {
  optional?: Leaf
  name?: NameNode
}

export type SyntaxNode =
  | ConditionalNode
  | LogicNode
  | BinaryNode
  | UnaryNode
  | SelectNode
  | MemberCallNode
  | IndexNode
  | IdentNode
  | CallNode
  | ListNode
  | MapNode
  | ObjectNode
  | LiteralNode
  | EmptyNode
