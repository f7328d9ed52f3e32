/** `npm run bench:compare`: kube-apiserver with etcd beside Keelson; start, memory, processor time and rates of the same requests. */
import { ownArguments, positive } from './arguments.ts'
import { compareServers } from './compare-servers.ts'
import { keepFigures } from './figures.ts'
import { programsOf } from './kube-apiserver.ts'
import { rounded } from './numbers.ts'
import { comparisonText, writePages } from './pages.ts'
import { removeFolders } from './servers.ts'

const USAGE = `npm run bench:compare -- [options]; writes bench/figures.json and the pages that show it

  --kube-apiserver PATH, --etcd PATH
                       the programs, if they are not on PATH
  --passes N           measures each server N times in turns (2)
  --quick              one pass in short rounds; prints only
  --help               prints this`

const options = ownArguments(USAGE, {
  'kube-apiserver': { type: 'string' },
  etcd: { type: 'string' },
  passes: { type: 'string' },
  quick: { type: 'boolean' },
})
const quick = options.quick === true
const say = (text: string) => process.stderr.write(`${text}\n`)

try {
  const compare = await compareServers(programsOf(options), { quick, passes: positive('passes', options.passes) ?? (quick ? 1 : 2), say })
  process.stdout.write(`${comparisonText(rounded(compare))}\n`)
  if (!quick) writePages(keepFigures({ compare }))
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  removeFolders()
}
