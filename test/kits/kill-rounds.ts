/** Kills a server again and again while it is written to. */
import { randomInt } from 'node:crypto'
import { type ServerProcess, startProcess } from '../kit.ts'

export type Rounds = {
  readonly dataDir: string
  readonly flags: readonly string[]
  readonly rounds: number
  /** A kill comes after at most this many acknowledged writes of its round. */
  readonly mostWrites: number
  /** Checks the state of the server after it was started again. */
  readonly verify: (server: ServerProcess) => Promise<void>
  /** Starts writers, which call `onDone` for every acknowledged write and end when the server has exited. */
  readonly write: (server: ServerProcess, round: number, onDone: () => void) => readonly Promise<void>[]
}

/** Ends after the last kill; returns the number of acknowledged writes. */
export async function killRounds(
  t: Parameters<typeof startProcess>[0],
  { dataDir, flags, rounds, mostWrites, verify, write }: Rounds,
): Promise<number> {
  let acknowledged = 0
  for (let round = 0; round < rounds; round++) {
    const server = await startProcess(t, { dataDir, flags })
    await verify(server)
    let left = 1 + randomInt(mostWrites)
    let enough = () => {}
    const killed = new Promise<void>(resolve => (enough = resolve))
    const writers = write(server, round, () => {
      acknowledged++
      if (--left === 0) enough()
    })
    await killed
    await server.stop('SIGKILL')
    await Promise.all(writers)
  }
  return acknowledged
}
