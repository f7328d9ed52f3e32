/** The names that the server's certificates are for. A page under any other name is not the console's (DNS rebinding). */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'

type Read = readonly { readonly pem: string; readonly certificate: X509Certificate }[]

export class PresentedNames {
  readonly #presented: () => readonly string[]
  #read: Read = []

  /** `presented` are the certificates that the server presents now, in PEM. */
  constructor(presented: () => readonly string[]) {
    this.#presented = presented
  }

  /** Whether a host, with or without a port, is among them. */
  has(host: string): boolean {
    const name =
      /^(\[[^\]]*\]|[^:]*)(:\d+)?$/
        .exec(host)?.[1]
        ?.replace(/^\[|\]$/g, '')
        .toLowerCase() ?? ''
    if (name === '') return false
    return this.#certificates().some(({ certificate }) =>
      isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) !== undefined : certificate.checkIP(name) !== undefined,
    )
  }

  /** Parsed again only when they have changed. */
  #certificates(): Read {
    const pems = this.#presented()
    if (pems.length !== this.#read.length || pems.some((pem, i) => pem !== this.#read[i]?.pem))
      this.#read = pems.map(pem => ({ pem, certificate: new X509Certificate(pem) }))
    return this.#read
  }
}
