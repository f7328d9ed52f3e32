/** The line that `serve` prints when the server is ready. */
import type { ServeOptions } from '../flags/flag.ts'
import type { Config } from '../server/config.ts'

export type Announced = Pick<ServeOptions, 'output'> & { readonly config: Config; readonly url: string; readonly ca: string }

export function announceReady({ config: { kubeconfig }, output, url, ca }: Announced): void {
  const inWords = () => `keelson ready in ${Math.round(performance.now())} ms  ${url}  kubeconfig ${kubeconfig}`
  process.stdout.write(`${output === 'json' ? JSON.stringify({ url, kubeconfig, ca, pid: process.pid }) : inWords()}\n`)
}
