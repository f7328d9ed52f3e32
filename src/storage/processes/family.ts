/** The processes that share one embedded store: started by one supervisor, which hands them an address and a secret. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Family = {
  /** The path of the Unix socket on which the primary of the day listens. Its folder belongs to the user alone. */
  readonly socket: string
  /** Only processes of the family know it: others are refused, as by any folder that is in use. */
  readonly secret: string
}

/**
 * A new family, with a folder of its own for the socket: a data folder may have a path that is too long for one. To be called once by
 * the supervisor, which passes the family to its processes in private (not on their command line), and disposes of it when all have ended.
 */
export function makeFamily(): Family & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-'))
  return {
    socket: join(folder, 'store'),
    secret: randomBytes(32).toString('hex'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
