/** How slow this machine is now, so that limits on processor time mean the same on every machine, busy or not. */

/** Median of the processor time of `work` on the machine that the limits were chosen on, when it did nothing else (it was 17.2 to 18.8 ms). */
const REFERENCE_MS = 18
const ROUNDS = 7
let isCompiled = false

/** How many times as long as on that machine the same work takes now; never less than 1. */
export function slowness(): number {
  // Compiled first, as the code of the server is by then.
  for (let i = 0; i < ROUNDS && !isCompiled; i++) work()
  isCompiled = true
  const times = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }).sort((a, b) => a - b)
  return Math.max(1, times[Math.floor(ROUNDS / 2)]! / REFERENCE_MS)
}

/** The work of a server with a body: parsing, comparing, sorting and writing. */
function work(): void {
  const text = JSON.stringify(
    Array.from({ length: 8_000 }, (_, i) => ({ name: `object-${(i * 7919) % 8_000}`, labels: { a: `${i}`, b: 'c' } })),
  )
  const objects = JSON.parse(text) as { name: string }[]
  objects.sort((a, b) => (a.name < b.name ? -1 : 1))
  if (JSON.stringify(objects).length !== text.length) throw new Error('objects were lost')
}
