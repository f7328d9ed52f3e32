/** Watch fan-out: how many events a second reach many watchers of one resource. */
import { open, requestBytes, type Target } from './raw-client.ts'
import { cpuSeconds } from './servers.ts'

export type FanOut = { readonly perSecond: number; readonly cpuMicros: number }
type Job = {
  readonly target: Target
  readonly pid: number
  readonly watchPath: string
  readonly write: (iteration: number) => Buffer
  readonly marker: string
}

/** Opens the watches, writes one object after another, and counts what arrives until all of it has. */
export async function fanOut(
  { target, pid, watchPath, write, marker }: Job,
  { watchers, writes }: { watchers: number; writes: number },
): Promise<FanOut> {
  const wanted = watchers * writes
  let arrived = 0
  let done: () => void = () => {}
  const all = new Promise<void>(resolve => (done = resolve))
  const needle = Buffer.from(marker)
  const sockets = await Promise.all(
    Array.from({ length: watchers }, async () => {
      const socket = await open(target)
      socket.on('data', chunk => {
        for (let at = chunk.indexOf(needle); at >= 0; at = chunk.indexOf(needle, at + needle.length)) arrived++
        if (arrived >= wanted) done()
      })
      const opened = new Promise(resolve => socket.once('data', resolve))
      socket.write(requestBytes('GET', watchPath))
      await opened
      return socket
    }),
  )
  const writer = await open(target)
  const before = cpuSeconds(pid)
  const start = performance.now()
  for (let iteration = 0; iteration < writes; iteration++) {
    const answered = new Promise(resolve => writer.once('data', resolve))
    writer.write(write(iteration))
    await answered
  }
  await all
  const seconds = (performance.now() - start) / 1000
  const cpu = cpuSeconds(pid) - before
  for (const socket of [...sockets, writer]) socket.destroy()
  return { perSecond: wanted / seconds, cpuMicros: (cpu * 1e6) / wanted }
}
