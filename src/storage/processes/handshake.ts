/** How a process joins the primary: it shows the secret, opens the file while nobody commits, and learns of damaged records. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { DamagedRecord } from '../embedded/load.ts'
import { encodeFrame, type Frame } from './frames.ts'

export type Hello = {
  readonly secret: string
  readonly pid: number
  /** Stays the same when a process connects again. */
  readonly member: string
  /** Whether it has the file open already. */
  readonly hasOpened: boolean
}

/** Names a family in the lock file, which others can read, without telling its secret. */
export const nameOf = (secret: string): string => createHash('sha256').update(`family ${secret}`).digest('hex')

export const encodeHello = (hello: Hello): Buffer => encodeFrame('hello', 0, JSON.stringify(hello))

/** Undefined for what does not know the secret. */
export function decodeHello({ type, body }: Frame, secret: string): Hello | undefined {
  if (type !== 'hello') return undefined
  try {
    const hello = JSON.parse(body.toString()) as Hello
    const [shown, known] = [hello.secret, secret].map(text => createHash('sha256').update(String(text)).digest())
    return timingSafeEqual(shown!, known!) && Number.isSafeInteger(hello.pid) && hello.pid > 0 ? hello : undefined
  } catch {
    return undefined
  }
}

/** `isFull` is the alarm of the quota at that time. */
export type Welcome = { readonly damaged: readonly DamagedRecord[]; readonly isFull: boolean }

export function encodeWelcome({ damaged, isFull }: Welcome): Buffer {
  const records = damaged.map(({ header, revision }) => [Buffer.from(header).toString('base64'), revision])
  return encodeFrame('welcome', 0, JSON.stringify({ records, isFull }))
}

export function decodeWelcome({ body }: Frame): Welcome {
  const { records, isFull } = JSON.parse(body.toString()) as { records: [string, number][]; isFull: boolean }
  return { damaged: records.map(([header, revision]) => ({ header: Buffer.from(header, 'base64'), revision })), isFull }
}
