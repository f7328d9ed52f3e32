/** Codes for logins: each is valid once, for a minute, and stands for the credential that asked for it. */
import type { Clock } from '../../lib/clock.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { OtherProcesses } from '../other-processes.ts'
import type { Credential } from './credential.ts'
import { digestOf, newSecret } from './secret.ts'

type Issued = { readonly user: string; readonly credential: Credential; readonly until: number }

const CODE = 'console-code'
const NO_ANSWER = ''

export class Codes {
  readonly #clock: Clock
  readonly #others: OtherProcesses | undefined
  /** Keyed by the digests of codes, the oldest first. */
  readonly #issued = new Map<string, Issued>()
  #questions = 0

  constructor(clock: Clock, others?: OtherProcesses) {
    this.#clock = clock
    this.#others = others
    others?.answer(CODE, digest => JSON.stringify(this.#take(digest)) ?? NO_ANSWER)
  }

  issue(user: string, credential: Credential): string {
    const now = this.#clock.now()
    for (const [digest, { until }] of this.#issued) if (until <= now) this.#issued.delete(digest)
    const ofUser = [...this.#issued].filter(([, issued]) => issued.user === user)
    if (ofUser.length >= LIMITS.console.sessionsOfUser) this.#issued.delete(ofUser[0]![0])
    const [oldest] = this.#issued.keys()
    if (this.#issued.size >= LIMITS.console.sessions && oldest !== undefined) this.#issued.delete(oldest)
    const code = newSecret()
    this.#issued.set(digestOf(code)!, { user, credential, until: now + LIMITS.console.codeMs })
    return code
  }

  /** The credential of a code, which is worth nothing from then on. The process that has issued it decides. */
  async redeem(code: string): Promise<Credential | undefined> {
    const digest = digestOf(code)
    if (digest === undefined) return undefined
    const own = this.#take(digest)
    if (own || !this.#others || this.#questions >= LIMITS.console.questions) return own
    this.#questions++
    try {
      const [answer] = (await this.#others.ask(CODE, digest)).filter(text => text !== NO_ANSWER)
      return answer === undefined ? undefined : (JSON.parse(answer) as Credential)
    } finally {
      this.#questions--
    }
  }

  /** Authorities of clients have changed: codes are only for certificates and tokens that still count. */
  forgetCertified(): void {
    for (const [digest, { credential }] of this.#issued) if (credential.certificate) this.#issued.delete(digest)
  }

  #take(digest: string): Credential | undefined {
    const found = this.#issued.get(digest)
    this.#issued.delete(digest)
    return found && this.#clock.now() < found.until ? found.credential : undefined
  }
}
