/** Follows files that the config names, so that changes take effect without a restart. */
import { readFile } from 'node:fs/promises'

export type FollowedFile = {
  /** The text that is in use. */
  readonly text: string | undefined
  /** Puts a new text to use; throws when it cannot be used, and what was used before stays. */
  readonly take: (text: string) => void | Promise<void>
  /** Called once for each new reason why the file could not be read or used. */
  readonly failed: (why: string) => void
}

const LOOK_EVERY_MS = 1000

/** What looks at the files that this process follows, of all its servers. */
const looks = new Set<() => Promise<void>>()

/** Looks at every followed file now. */
export async function lookAtFiles(): Promise<void> {
  await Promise.all([...looks].map(look => look()))
}

/** Polls the file. One that is half written or missing changes nothing. Returns what ends it. */
export const followFile = (file: string, followed: FollowedFile): (() => void) => follow(() => readFile(file, 'utf8'), followed)

/** Polls a text, however it is read. */
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
