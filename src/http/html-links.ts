/**
 * Rewrites links of a page that came through the proxy of a pod, a Service or a node, so that they lead through the proxy as well. Bytes go
 * through as they arrive: nothing is held but the value of a link, up to a limit.
 */

/** The attributes that hold links, by element. */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
}

/** Elements whose content is text up to their end tag, whatever it looks like. */
const RAW: ReadonlySet<string> = new Set('iframe noembed noframes noscript plaintext script style textarea title xmp'.split(' '))

/** A longer name is that of no element or attribute above. */
const MAX_NAME = 16
/** A longer link is left as it is. */
const MAX_LINK_BYTES = 65_536

export type Proxied = {
  /** The path that leads to the other server, without a slash at its end. */
  readonly prefix: string
  /** Host and port of the other server, as its own links name them. */
  readonly hosts: readonly string[]
  /** The host that the client named. Links to it keep their origin. */
  readonly requestHost: string | undefined
}

/** A link that leads through the proxy. Those to other hosts and relative ones stay as they are: clients resolve them correctly. */
export function proxiedLink(link: string, { prefix, hosts, requestHost }: Proxied): string {
  const [, origin = '', host = '', rest = ''] = /^((?:[a-z][a-z0-9+.-]*:)?(?:\/\/([^/?#]*))?)(.*)$/is.exec(link)!
  const isOfRequest = host !== '' && host === requestHost
  if (!rest.startsWith('/') || (host !== '' && !isOfRequest && !hosts.includes(host))) return link
  return `${isOfRequest ? origin : ''}${rest.startsWith(prefix) ? '' : prefix}${rest}`
}

/** Character references that may hide where the path of a link begins. All others stay as they are. */
const REFERENCE = /&(?:#x0*([0-9a-f]{1,2})|#0*([0-9]{1,3})|(sol|colon|period|quest|num));?/gi
const NAMED: Readonly<Record<string, string>> = { sol: '/', colon: ':', period: '.', quest: '?', num: '#' }

const readable = (value: string): string =>
  value.replace(REFERENCE, (reference, hex?: string, decimal?: string, name?: string) => {
    const character = name === undefined ? String.fromCharCode(hex ? parseInt(hex, 16) : Number(decimal)) : NAMED[name]
    return character !== undefined && /[\w/:.?#-]/.test(character) ? character : reference
  })

type State =
  | 'text'
  | 'tag open'
  | 'end tag open'
  | 'tag name'
  | 'before attribute'
  | 'attribute name'
  | 'after name'
  | 'before value'
  | 'quoted value'
  | 'value'
  | 'declaration'
  | 'declaration dash'
  | 'comment'
  | 'comment bang'
  | 'until angle'
  | 'raw'
  | 'raw open'
  | 'raw end'
  | 'plain'

const [LESS, GREATER, SLASH, EQUALS, DASH, BANG, QUESTION, QUOTE, APOSTROPHE] = Buffer.from('<>/=-!?"\'') as unknown as number[]
const isSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9 || byte === 12
const isLetter = (byte: number): boolean => (byte | 32) >= 97 && (byte | 32) <= 122
const lowered = (byte: number): string => String.fromCharCode(byte >= 65 && byte <= 90 ? byte + 32 : byte)

/** Reads a page in parts of any size. Each byte is looked at a constant number of times. */
export class HtmlLinks {
  readonly #rewrite: (link: string) => string
  #state: State = 'text'
  /** The element that a start tag opens; empty in an end tag. */
  #element = ''
  #attribute = ''
  /** The link attributes of this tag that were there: those that come again do not count. */
  #seen: string[] = []
  #quote = 0
  #dashes = 0
  #isCommentBegin = false
  /** The element that raw text belongs to, and how much of its end tag was read. */
  #raw = ''
  #matched = 0
  /** The beginning of a link whose end has not arrived. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Whether the value that is read is a link. */
  #isLink = false

  constructor(rewrite: (link: string) => string) {
    this.#rewrite = rewrite
  }

  /** The bytes to send for these. */
  write(bytes: Buffer): Buffer {
    const sent: Buffer[] = []
    /** All bytes before this index are sent or held. */
    let from = 0
    let at = 0
    const begins = (index: number) => {
      if (!this.#beginsLink()) return
      sent.push(bytes.subarray(from, index))
      from = index
    }
    const ends = (index: number) => {
      if (!this.#isLink) return
      this.#hold(bytes.subarray(from, index), sent)
      sent.push(...this.#rewritten())
      from = index
    }
    while (at < bytes.length) {
      const byte = bytes[at]!
      switch (this.#state) {
        case 'text':
        case 'raw': {
          const found = bytes.indexOf(LESS!, at)
          if (found >= 0) this.#state = this.#state === 'text' ? 'tag open' : 'raw open'
          at = found < 0 ? bytes.length : found + 1
          continue
        }
        case 'quoted value': {
          const found = bytes.indexOf(this.#quote, at)
          if (found >= 0) {
            ends(found)
            this.#state = 'before attribute'
          }
          at = found < 0 ? bytes.length : found + 1
          continue
        }
        case 'before value':
          if (isSpace(byte)) break
          if (byte === GREATER) {
            this.#state = 'before attribute'
            continue
          }
          this.#quote = byte
          this.#state = byte === QUOTE || byte === APOSTROPHE ? 'quoted value' : 'value'
          begins(this.#state === 'value' ? at : at + 1)
          break
        case 'value':
          if (!isSpace(byte) && byte !== GREATER) break
          ends(at)
          this.#state = 'before attribute'
          continue
        case 'plain':
          at = bytes.length
          continue
        case 'until angle': {
          const found = bytes.indexOf(GREATER!, at)
          if (found >= 0) this.#state = 'text'
          at = found < 0 ? bytes.length : found + 1
          continue
        }
        default:
          if (!this.#takes(byte)) continue
      }
      at++
    }
    if (this.#isLink) this.#hold(bytes.subarray(from), sent)
    else sent.push(bytes.subarray(from))
    return sent.length === 1 ? sent[0]! : Buffer.concat(sent)
  }

  /** The rest, at the end of the page. */
  end(): Buffer {
    return Buffer.concat(this.#held)
  }

  /** Goes on by a byte outside of values; false if the byte belongs to the state that follows. */
  #takes(byte: number): boolean {
    switch (this.#state) {
      case 'tag open':
        this.#element = ''
        this.#seen = []
        if (byte === SLASH) return this.#to('end tag open')
        if (byte === BANG) return this.#to('declaration')
        if (byte === QUESTION) return this.#to('until angle')
        this.#state = isLetter(byte) ? 'tag name' : 'text'
        return false
      case 'end tag open':
        // The attributes of an end tag are read, as they may contain an angle.
        if (isLetter(byte)) return this.#to('before attribute')
        this.#state = 'until angle'
        return false
      case 'tag name':
        if (isSpace(byte)) return this.#to('before attribute')
        if (byte !== SLASH && byte !== GREATER) {
          if (this.#element.length <= MAX_NAME) this.#element += lowered(byte)
          return true
        }
        this.#state = 'before attribute'
        return false
      case 'before attribute':
        if (isSpace(byte)) return true
        if (byte === GREATER) return this.#endsTag()
        this.#attribute = ''
        this.#state = 'attribute name'
        return false
      case 'attribute name':
        if (isSpace(byte) || byte === SLASH || byte === GREATER || (byte === EQUALS && this.#attribute !== '')) {
          this.#state = 'after name'
          return false
        }
        if (this.#attribute.length <= MAX_NAME) this.#attribute += lowered(byte)
        return true
      case 'after name':
        if (isSpace(byte)) return true
        if (byte === EQUALS) return this.#to('before value')
        this.#state = 'before attribute'
        return byte === SLASH
      case 'declaration':
        if (byte === DASH) return this.#to('declaration dash')
        this.#state = 'until angle'
        return false
      case 'declaration dash':
        this.#dashes = 0
        this.#isCommentBegin = true
        if (byte === DASH) return this.#to('comment')
        this.#state = 'until angle'
        return false
      case 'comment':
        return this.#takesComment(byte)
      case 'comment bang':
        if (byte === GREATER) return this.#to('text')
        this.#dashes = 0
        this.#state = 'comment'
        return false
      case 'raw open':
        this.#matched = 0
        if (byte === SLASH) return this.#to('raw end')
        this.#state = 'raw'
        return false
      case 'raw end':
        if (this.#matched < this.#raw.length && lowered(byte) === this.#raw[this.#matched]) {
          this.#matched++
          return true
        }
        this.#element = ''
        this.#state =
          this.#matched === this.#raw.length && (isSpace(byte) || byte === SLASH || byte === GREATER) ? 'before attribute' : 'raw'
        return false
      default:
        throw new Error(`unexpected state ${this.#state}`)
    }
  }

  #takesComment(byte: number): true {
    if (byte === DASH) {
      this.#dashes++
      return true
    }
    if (byte === GREATER && (this.#dashes >= 2 || this.#isCommentBegin)) return this.#to('text')
    if (byte === BANG && this.#dashes >= 2) this.#state = 'comment bang'
    this.#dashes = 0
    this.#isCommentBegin = false
    return true
  }

  #to(state: State): true {
    this.#state = state
    return true
  }

  #endsTag(): true {
    if (!RAW.has(this.#element)) return this.#to('text')
    this.#raw = this.#element
    return this.#to(this.#raw === 'plaintext' ? 'plain' : 'raw')
  }

  #beginsLink(): boolean {
    const [element, attribute] = [this.#element, this.#attribute]
    if (!Object.hasOwn(LINKS, element) || !LINKS[element]!.includes(attribute) || this.#seen.includes(attribute)) return false
    this.#seen.push(attribute)
    this.#isLink = true
    return true
  }

  #hold(part: Buffer, sent: Buffer[]): void {
    this.#heldBytes += part.length
    // A copy: the part belongs to a larger block, which would be kept as well.
    this.#held.push(Buffer.from(part))
    if (this.#heldBytes <= MAX_LINK_BYTES) return
    this.#isLink = false
    sent.push(...this.#held)
    this.#forget()
  }

  /** The link that was held, rewritten; nothing if it was too long. */
  #rewritten(): Buffer[] {
    if (!this.#isLink) return []
    this.#isLink = false
    // Bytes stay what they are in a text in which each character is one.
    const value = readable(Buffer.concat(this.#held).toString('latin1'))
    this.#forget()
    return [Buffer.from(this.#rewrite(value), 'latin1')]
  }

  #forget(): void {
    this.#held = []
    this.#heldBytes = 0
  }
}
