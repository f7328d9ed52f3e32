/** The processes that share one embedded store: started by one supervisor, which hands them an address and a secret. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'

export type Family = {
  /** The path of the Unix socket on which the primary of the day listens. Its folder belongs to the user alone. */
  readonly socket: string
  /** Only processes of the family know it: others are refused, as by any folder that is in use. */
  readonly secret: string
}

const SOCKET = 'store'
/** The path of a socket has at most 104 bytes on macOS and 108 on Linux, the final zero included. */
const MAX_SOCKET_PATH = 103
/** The name of a folder in the data folder, before the id of the supervisor. */
const FOLDER = '.processes-'
/** Cleaners of temporary folders remove what nobody has touched for days. */
const TOUCH_MS = 3_600_000

/**
 * A new family, with a folder of its own for the socket, which is made in the temporary folder unless another is given. To be called once
 * by the supervisor, which passes the family to its processes in private (not on their command line), and disposes of it when all have
 * ended.
 */
export function makeFamily(folder = mkdtempSync(join(tmpdir(), 'keelson-'))): Family & Disposable {
  const touching = setInterval(() => touch(folder), TOUCH_MS).unref()
  return {
    socket: join(folder, SOCKET),
    secret: randomBytes(32).toString('hex'),
    [Symbol.dispose]() {
      clearInterval(touching)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * A new folder for the socket in a data folder, which nobody empties as they do with temporary ones; undefined if it cannot have one: its
 * path is too long, or its file system has no sockets, as with some that are shared with a container.
 */
export async function socketFolderIn(dataDir: string): Promise<string | undefined> {
  const folder = join(dataDir, `${FOLDER}${process.pid}`)
  if (Buffer.byteLength(join(folder, SOCKET)) > MAX_SOCKET_PATH) return undefined
  try {
    makeFolders(dataDir, 0o700)
    removeAbandoned(dataDir)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o700 })
  } catch {
    // The store reports the problem of the data folder.
    return undefined
  }
  if (await canListen(join(folder, SOCKET))) return folder
  rmSync(folder, { recursive: true, force: true })
  return undefined
}

/** Removes the folders of supervisors that were killed. */
function removeAbandoned(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (name.startsWith(FOLDER) && !isRunning(Number(name.slice(FOLDER.length))))
      rmSync(join(dataDir, name), { recursive: true, force: true })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function canListen(path: string): Promise<boolean> {
  const server = createServer()
  return new Promise(resolve => {
    server.once('error', () => resolve(false))
    server.listen(path, () => server.close(() => resolve(true)))
  })
}

function touch(folder: string): void {
  try {
    const now = new Date()
    for (const path of [folder, ...readdirSync(folder).map(name => join(folder, name))]) utimesSync(path, now, now)
  } catch {
    // A file may have been replaced meanwhile.
  }
}
