/** Messages between the server processes of `--processes` and the supervisor that has started them. */
import type { AddressInfo } from 'node:net'
import type { Family } from '../../storage/processes/family.ts'

/** The first message to a process. */
export type Welcome = {
  readonly type: 'welcome'
  /** From 1. A process that is started in place of another has its number. */
  readonly number: number
  /** The number of processes that are started. */
  readonly of: number
  /** Names all of them together, and no others that ever were or will be. */
  readonly id: string
  /** Lets the processes open one embedded store. */
  readonly store: Family
  /** Whether the server as a whole starts, so that the work of its start is still to be done. */
  readonly isFirstStart: boolean
  /** Whether this process runs the duties of all. */
  readonly isAppointed: boolean
}

/** The part of a common limit that belongs to the process at a place among those that serve. */
export type Share = { readonly place: number; readonly of: number }

export type ToProcess =
  | Welcome
  /** The port is open, or could not be opened. */
  | { readonly type: 'listening'; readonly address: AddressInfo }
  | { readonly type: 'not listening'; readonly code: string | undefined; readonly message: string }
  /** Comes with a connection of a client. */
  | { readonly type: 'connection' }
  | { readonly type: 'question'; readonly id: number; readonly topic: string; readonly body: string }
  | { readonly type: 'answers'; readonly id: number; readonly answers: readonly Answer[] }
  | { readonly type: 'locked'; readonly name: string; readonly kept: string }
  | ({ readonly type: 'share' } & Share)
  | { readonly type: 'appointed' }
  /** To be answered at once. */
  | { readonly type: 'ping' }
  | { readonly type: 'read files'; readonly reason: string }
  /** Stop serving; then report and wait. */
  | { readonly type: 'stop'; readonly reason: string }
  /** Close everything and exit. */
  | { readonly type: 'close' }

/** The answer of another process; without a body if it gave none in time. */
export type Answer = { readonly number: number; readonly body?: string }

export type ToSupervisor =
  | { readonly type: 'listen' }
  | { readonly type: 'ready'; readonly url: string; readonly ca: string }
  /** It could not start. */
  | { readonly type: 'failed'; readonly text: string; readonly code: number }
  /** It has the connection that it was sent first of those that it had not got yet. */
  | { readonly type: 'took' }
  /** So many of its connections have ended. */
  | { readonly type: 'ended'; readonly connections: number }
  | { readonly type: 'question'; readonly id: number; readonly topic: string; readonly body: string }
  | { readonly type: 'answer'; readonly id: number; readonly body: string }
  | { readonly type: 'lock'; readonly name: string }
  | { readonly type: 'unlock'; readonly name: string; readonly kept: string }
  /** Its event loop runs. */
  | { readonly type: 'pong' }
  /** It owns the embedded store from now on. */
  | { readonly type: 'primary' }
  /** Another process does not read its messages, and holds up all. */
  | { readonly type: 'stuck'; readonly pid: number }
  /** It takes no more connections. */
  | { readonly type: 'draining' }
  /** Nothing of its clients is under way any more. */
  | { readonly type: 'drained' }

/**
 * The topic of metrics. The supervisor keeps what a process has counted last, in an answer or in its own question, and answers with it for
 * processes that have ended: counters of all processes together never shrink.
 */
export const COUNTED = 'metrics'
