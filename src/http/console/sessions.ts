/**
 * The sessions of browsers: a random key for each, which a cookie holds, and here the credential of its login. They are in memory, so
 * they end with the server. With several processes, one that does not know a session asks the others.
 */
import type { Clock } from '../../lib/clock.ts'
import { ExpiringMap } from '../../lib/expiring-map.ts'
import { LIMITS } from '../../lib/limits.ts'
import { tooManyRequests } from '../../schema/status-error.ts'
import type { OtherProcesses } from '../other-processes.ts'
import type { Credential } from './credential.ts'
import { digestOf, newSecret } from './secret.ts'

/** A session as processes hand it to each other. */
type Handed = { readonly user: string; readonly credential: Credential; readonly endsAt: number }

const [SESSION, LOGOUT] = ['console-session', 'console-logout'] as const
const SWEEP_MS = 30_000
const NO_ANSWER = ''

export class Session {
  readonly user: string
  readonly credential: Credential
  /** Milliseconds since the epoch. */
  readonly endsAt: number
  usedAt: number
  /** Responses that are still sent, as functions that cut them. */
  readonly open = new Set<() => void>()
  isOver = false

  constructor({ user, credential, endsAt }: Handed, now: number) {
    this.user = user
    this.credential = credential
    this.endsAt = endsAt
    this.usedAt = now
  }

  end(): void {
    this.isOver = true
    for (const cut of this.open) cut()
    this.open.clear()
  }
}

export class Sessions {
  readonly #clock: Clock
  readonly #others: OtherProcesses | undefined
  /** Keyed by the digests of their keys, the oldest first. */
  readonly #sessions = new Map<string, Session>()
  /** Digests of sessions that have ended by a logout: another process may hand one over that it had not heard of yet. */
  readonly #loggedOut: ExpiringMap<string, true>
  #questions = 0
  #stopSweeping: (() => void) | undefined

  constructor(clock: Clock, others?: OtherProcesses) {
    this.#clock = clock
    this.#others = others
    this.#loggedOut = new ExpiringMap(LIMITS.console.logouts, () => clock.now())
    others?.answer(SESSION, digest => {
      const found = this.#valid(digest)
      return found ? JSON.stringify({ user: found.user, credential: found.credential, endsAt: found.endsAt } satisfies Handed) : NO_ANSWER
    })
    others?.answer(LOGOUT, digest => {
      this.#logOut(digest)
      return NO_ANSWER
    })
  }

  /** The key is known to the caller alone. */
  begin(user: string, credential: Credential): { readonly key: string; readonly session: Session } {
    const now = this.#clock.now()
    const key = newSecret()
    const session = new Session({ user, credential, endsAt: now + LIMITS.console.sessionMs }, now)
    this.#keep(digestOf(key)!, session)
    return { key, session }
  }

  /** The session of a key; using it keeps it alive. */
  async find(key: string): Promise<Session | undefined> {
    const digest = digestOf(key)
    if (digest === undefined) return undefined
    const found = this.#valid(digest) ?? (await this.#fromOthers(digest))
    if (found) found.usedAt = this.#clock.now()
    return found
  }

  /** Ends a session in all processes. */
  async logOut(key: string): Promise<void> {
    const digest = digestOf(key)
    if (digest === undefined) return
    this.#logOut(digest)
    await this.#others?.ask(LOGOUT, digest)
  }

  /** Ends the sessions whose credential is a client certificate: authorities have changed. */
  endCertified(): void {
    for (const [digest, session] of this.#sessions) if (session.credential.certificate) this.#remove(digest, session)
  }

  close(): void {
    this.#stopSweeping?.()
    for (const [digest, session] of this.#sessions) this.#remove(digest, session)
  }

  #valid(digest: string): Session | undefined {
    const found = this.#sessions.get(digest)
    if (!found || !this.#isOver(found)) return found
    this.#remove(digest, found)
    return undefined
  }

  /** A page that follows something uses its session. */
  #isOver({ endsAt, usedAt, open }: Session): boolean {
    const now = this.#clock.now()
    return now >= endsAt || (open.size === 0 && now >= usedAt + LIMITS.console.idleMs)
  }

  async #fromOthers(digest: string): Promise<Session | undefined> {
    if (!this.#others) return undefined
    // Anyone can send keys that no process knows.
    if (this.#questions >= LIMITS.console.questions) throw tooManyRequests('too many sessions are being looked for', 1)
    this.#questions++
    try {
      const [answer] = (await this.#others.ask(SESSION, digest)).filter(text => text !== NO_ANSWER)
      if (answer === undefined || this.#loggedOut.get(digest)) return undefined
      // Another request may have brought it meanwhile.
      const known = this.#valid(digest)
      if (known) return known
      const session = new Session(JSON.parse(answer) as Handed, this.#clock.now())
      this.#keep(digest, session)
      return this.#valid(digest)
    } finally {
      this.#questions--
    }
  }

  #keep(digest: string, session: Session): void {
    const ofUser = [...this.#sessions].filter(([, { user }]) => user === session.user)
    if (ofUser.length >= LIMITS.console.sessionsOfUser) this.#remove(...ofUser[0]!)
    const [oldest] = this.#sessions
    if (this.#sessions.size >= LIMITS.console.sessions && oldest) this.#remove(...oldest)
    this.#sessions.set(digest, session)
    this.#sweepLater()
  }

  #logOut(digest: string): void {
    this.#loggedOut.set(digest, true, LIMITS.console.sessionMs)
    const found = this.#sessions.get(digest)
    if (found) this.#remove(digest, found)
  }

  #remove(digest: string, session: Session): void {
    this.#sessions.delete(digest)
    session.end()
  }

  /** Responses of sessions that are over are cut, whether or not the page asks for anything. */
  #sweepLater(): void {
    this.#stopSweeping ??= this.#clock.after(
      SWEEP_MS,
      () => {
        this.#stopSweeping = undefined
        for (const digest of [...this.#sessions.keys()]) this.#valid(digest)
        for (const session of this.#sessions.values()) if (session.open.size > 0) session.usedAt = this.#clock.now()
        if (this.#sessions.size > 0) this.#sweepLater()
      },
      { isRoutine: true },
    )
  }
}
