/** CBOR (RFC 8949) as Kubernetes uses it: its media types, the parts of a data item's head, and the error for data that is refused. */

export const CBOR = 'application/cbor'
/** Data items one after the other, without separators (RFC 8742): the events of a watch. */
export const CBOR_SEQUENCE = 'application/cbor-seq'
export const APPLY_CBOR_PATCH = 'application/apply-patch+cbor'

/** Encloses whatever is sent or stored: the tag means nothing, and tells CBOR from other encodings. */
export const SELF_DESCRIBED: Uint8Array = Buffer.from([0xd9, 0xd9, 0xf7])

/** Whether bytes begin with the tag of self-described CBOR. */
export const isSelfDescribed = (bytes: Uint8Array): boolean => bytes[0] === 0xd9 && bytes[1] === 0xd9 && bytes[2] === 0xf7

/** Major types: the upper three bits of a head. */
export const MAJOR = { positive: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6, simple: 7 } as const

/** Values of the lower five bits that say how the argument of the head follows. */
export const ARGUMENT = { one: 24, two: 25, four: 26, eight: 27, indefinite: 31 } as const

/** Tags whose content is not read as if they were absent. */
export const TAG = { time: 0, epoch: 1, bignum: 2, negativeBignum: 3, base64url: 21, base64: 22, base16: 23 } as const

/** Data that is no CBOR, or that Kubernetes refuses; the message is the one of Go's decoder. */
export class CborError extends Error {
  override readonly name: string = 'CborError'
}

/** Data of which not even the members of the outermost mapping can be told apart. */
export class CborFormError extends CborError {
  override readonly name = 'CborFormError'
}

/** A value that does not fit where it is; the message depends on the type that is read. */
export class CborTypeError extends CborError {
  override readonly name = 'CborTypeError'
  readonly #sent: string
  readonly #expected: string
  readonly #why: string
  /** The member of the outermost mapping that the value is in. */
  readonly field: string | undefined

  constructor({ sent, expected, why = '', field }: { sent: string; expected: string; why?: string; field?: string | undefined }) {
    super(mismatchText({ sent, expected, why, into: 'value' }))
    this.#sent = sent
    this.#expected = expected
    this.#why = why
    this.field = field
  }

  /** The message where the object is one of a known type, such as `v1.ConfigMap`. */
  in(struct: string): string {
    const into = this.field === undefined ? 'value' : `struct field ${struct}.${this.field}`
    return mismatchText({ sent: this.#sent, expected: this.#expected, why: this.#why, into })
  }
}

const mismatchText = ({ sent, expected, why, into }: { sent: string; expected: string; why: string; into: string }) =>
  `cbor: cannot unmarshal ${sent} into Go ${into} of type ${expected}${why === '' ? '' : ` (${why})`}`
