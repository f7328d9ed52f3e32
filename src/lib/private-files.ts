/** Files of one user: written atomically, unreadable for others, under unpredictable names until they are complete. */
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** An unpredictable name beside a file, for its draft. */
export const draftOf = (file: string) => `${file}.${randomBytes(8).toString('hex')}.tmp`

/** Replaces a file atomically and durably, readable by its owner only. A symbolic link in its place is replaced, not followed. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const draft = draftOf(file)
  try {
    // Fails if anything exists there already, a link included.
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Replaces a file atomically. A symbolic link in its place is replaced, not followed. */
export function replaceFile(file: string, text: string | Uint8Array, mode = 0o600): void {
  const draft = draftOf(file)
  try {
    writeFileSync(draft, text, { flag: 'wx', mode })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Whether the file system of a folder stores modes. Windows and some network file systems show the same mode for all files. */
export function keepsModes(folder: string): boolean {
  const probe = draftOf(join(folder, '.keelson'))
  try {
    const file = openSync(probe, 'wx', 0o600)
    try {
      return (fstatSync(file).mode & 0o077) === 0
    } finally {
      closeSync(file)
      rmSync(probe, { force: true })
    }
  } catch {
    return true
  }
}
