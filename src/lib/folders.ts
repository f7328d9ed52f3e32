/** Creates folders with their parents. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its parents; an existing one is left as it is. Node's own `recursive` retries forever on file systems that report a
 * missing parent for every new name, as /proc does.
 */
export function makeFolders(path: string, mode = 0o777): void {
  const missing: string[] = []
  for (let at = path; !isFolder(at); at = dirname(at)) {
    missing.push(at)
    if (dirname(at) === at) break
  }
  for (const folder of missing.reverse()) makeFolder(folder, mode)
}

function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process may have created it in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(path)) throw error
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
