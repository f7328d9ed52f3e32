/** Follows files that the config names, so that changes take effect without a restart. */
import { readFile } from 'node:fs/promises'

export type FollowedFile = {
  /** The text in use. */
  readonly text: string | undefined
  /** Applies a new text; throws when it is invalid, and the previous one stays in use. */
  readonly take: (text: string) => void | Promise<void>
  /** Called once for each new reason for which the file could not be read or used. */
  readonly failed: (why: string) => void
}

const LOOK_EVERY_MS = 1000

/** The checks of all files that servers of this process follow. */
const looks = new Set<() => Promise<void>>()

/** Checks every followed file now. */
export async function lookAtFiles(): Promise<void> {
  await Promise.all([...looks].map(look => look()))
}

/** Polls the file. A partly written or missing file changes nothing. Returns a function that stops it. */
export const followFile = (file: string, followed: FollowedFile): (() => void) => follow(() => readFile(file, 'utf8'), followed)

/** Polls a text, with any way to read it. */
export function follow(read: () => Promise<string>, { text, take, failed }: FollowedFile): () => void {
  // Contents are compared, not times or events: mounted files are links that are replaced.
  let last = text
  let problem: string | undefined
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const found = await read()
      if (found === last) return
      last = found
      await take(found)
      problem = undefined
    } catch (error) {
      const why = (error as Error).message
      if (why !== problem) failed(why)
      problem = why
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  timer.unref()
  looks.add(look)
  return () => {
    clearInterval(timer)
    looks.delete(look)
  }
}
