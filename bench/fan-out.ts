/** Watch fan-out: how many events a second reach many watchers of one resource. */
import type { Protocol, Target } from './raw-client.ts'

type Job = {
  readonly target: Target
  readonly protocol: Protocol
  readonly watchPath: string
  readonly write: (iteration: number) => Buffer
  /** A text that every event has once. */
  readonly marker: string
}

/** Opens the watches, writes one object after another, and counts what arrives until all of it has. */
export async function fanOut(
  { target, protocol, watchPath, write, marker }: Job,
  { watchers, writes, onOpen }: { readonly watchers: number; readonly writes: number; readonly onOpen: () => void },
): Promise<{ readonly perSecond: number }> {
  const wanted = watchers * writes
  let arrived = 0
  let done: () => void = () => {}
  const all = new Promise<void>(resolve => (done = resolve))
  const found = () => {
    arrived++
    if (arrived >= wanted) done()
  }
  const close = await protocol.stream(target, {
    count: watchers,
    request: protocol.request('GET', watchPath),
    onData: () => counter(Buffer.from(marker), found),
  })
  const [writer] = await protocol.lanes(target, 1)
  onOpen()
  const start = performance.now()
  for (let iteration = 0; iteration < writes; iteration++) {
    const status = await writer!.send(write(iteration))
    if (status >= 400) throw new Error(`a write was answered with ${status}`)
  }
  if (wanted > 0) await all
  const seconds = (performance.now() - start) / 1000
  close()
  writer!.close()
  return { perSecond: wanted / seconds }
}

/** Finds a text in a stream, also where it comes in two pieces. */
function counter(needle: Buffer, found: () => void): (chunk: Buffer) => void {
  let tail: Buffer = Buffer.alloc(0)
  return chunk => {
    const seam = Buffer.concat([tail, chunk.subarray(0, needle.length - 1)])
    if (seam.indexOf(needle) >= 0) found()
    for (let at = chunk.indexOf(needle); at >= 0; at = chunk.indexOf(needle, at + needle.length)) found()
    tail = Buffer.from(chunk.length >= needle.length ? chunk.subarray(chunk.length - needle.length + 1) : seam.subarray(-needle.length + 1))
  }
}
