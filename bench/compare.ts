/**
 * `npm run bench:compare`: kube-apiserver with etcd beside Keelson; start, memory, processor time and rates of the same requests.
 *
 *   npm run bench:compare -- --kube-apiserver PATH --etcd PATH    writes bench/figures.json and the pages that show it
 *   npm run bench:compare -- --passes 1                           measures each server once instead of twice in turns
 *   npm run bench:compare -- --quick                              short rounds, prints only
 */
import { compareServers } from './compare-servers.ts'
import { keepFigures } from './figures.ts'
import { programsOf } from './kube-apiserver.ts'
import { rounded } from './numbers.ts'
import { comparisonText, writePages } from './pages.ts'
import { removeFolders } from './servers.ts'

const args = process.argv.slice(2)
const flag = (name: string) => (args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : undefined)
const quick = args.includes('--quick')
const say = (text: string) => process.stderr.write(`${text}\n`)

try {
  const compare = await compareServers(programsOf(flag), { quick, passes: Number(flag('passes') ?? (quick ? 1 : 2)), say })
  process.stdout.write(`${comparisonText(rounded(compare))}\n`)
  if (!quick) writePages(keepFigures({ compare }))
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  removeFolders()
}
