// The checklist of docs/operations.md after the CIS benchmark: every command runs and gives the answer that the table names.
import assert from 'node:assert/strict'
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FLAGS } from '../src/flags/serve-flags.ts'
import { patient, ROOT, run, startProcess, temporaryDirectory } from './kit.ts'
import { testWith } from './programs.ts'

const section = () => readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').split('## CIS benchmark\n')[1]!.split('\n## ')[0]!

type Row = { readonly point: string; readonly wish: string; readonly command: string; readonly answer: string }

const rows = (): Row[] =>
  section()
    .split('\n')
    .filter(line => /^\| 1\.2\.\d+ \|/.test(line))
    .map(line => {
      const [point = '', wish = '', command = '', answer = ''] = line
        .slice(2, -2)
        .split(/ \| /)
        .map(cell => cell.replaceAll('\\|', '|').trim())
      return { point, wish, command: command.replace(/^`|`$/g, ''), answer }
    })

/** Flags of the server in the section; files it names are in the folder. */
const flagsIn = (folder: string): string[] => {
  const [, command = ''] = /\$ keelson serve ([\s\S]*?)\n```/.exec(section()) ?? []
  return command.split(/[\s\\]+/).map(word => (/\.(yaml|log)$/.test(word) ? join(folder, word) : word))
}

const ADMISSION = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AdmissionConfiguration',
  plugins: [
    {
      name: 'EventRateLimit',
      configuration: {
        apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
        kind: 'Configuration',
        limits: [{ type: 'Server', qps: 50, burst: 100 }],
      },
    },
  ],
}

testWith('kubectl', 'every point of the CIS checklist is shown by its command', patient, async (t, kubectl) => {
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'admission.yaml'), JSON.stringify(ADMISSION))
  writeFileSync(
    join(folder, 'policy.yaml'),
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }),
  )
  symlinkSync(kubectl, join(folder, 'kubectl'))
  chmodSync(folder, 0o700)
  // As by default: tests usually run without the controller that makes a config map in every namespace.
  const server = await startProcess(t, { flags: [...flagsIn(folder), '--controllers=*'] })
  const env = { ...process.env, KUBECONFIG: server.kubeconfig, PATH: `${folder}:${process.env['PATH']}` }
  const all = rows()
  assert.deepEqual(
    all.map(({ point }) => point),
    Array.from({ length: 30 }, (_, i) => `1.2.${i + 1}`),
  )
  await run('sh', ['-c', 'kubectl create secret generic secret --from-literal=a=b'], { env })
  for (const { point, wish, command, answer } of all) {
    if (command === '') {
      assert.match(answer, /^(cannot be set|always so): /, point)
      const [, flag] = /`--([\w-]+)`/.exec(wish) ?? []
      assert.ok(!FLAGS.some(({ name }) => name === flag), `${point}: --${flag} can be set`)
      continue
    }
    const { stdout, code } = await run('sh', ['-c', command], { env })
    assert.equal(code, 0, `${point}: ${command}`)
    const lines = stdout.trimEnd().split('\n')
    const [value = '', ...further] = lines.map(line => line.replace(/^[\w-]+(: |:|=| |$)/, '').trim())
    const [, wanted, next] = /^`([^`]*)`(?:, then `([^`]*)`)?/.exec(answer) ?? []
    const [, unwanted] = /^no `([^`]*)`/.exec(answer) ?? []
    if (next !== undefined) assert.deepEqual([value, ...further], [wanted, next], point)
    else if (wanted !== undefined) assert.ok(value.includes(wanted), `${point}: ${value}`)
    else if (unwanted !== undefined) assert.ok(!value.includes(unwanted), `${point}: ${value}`)
    else assert.equal(value, '', point)
    for (const [, file = ''] of answer.matchAll(/`(pki\/[^`]+)`/g))
      assert.equal(statSync(join(server.dataDir, file)).mode & 0o777, 0o600, `${point}: ${file}`)
  }
})
