// The GitHub Action and the devcontainer feature, as far as a shell can run them: with this repository's command in place of the
// one that npm would install.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { ask, eventually, KEELSON, patient, ROOT, run, type Scope, targetOf, temporaryDirectory } from './kit.ts'

const action = parse(readFileSync(join(ROOT, 'action.yml'), 'utf8'))
const NODE_FOLDER = dirname(process.execPath)
const SYSTEM = ['/usr/bin', '/bin']

test('a job gets a server with its manifests, tells the next steps, and stops it', patient, async t => {
  const job = newJob(t)
  const manifest = join(job.folder, 'settings.yaml')
  writeFileSync(manifest, 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { mode: fast }\n')
  const flags = '--nodes 0 --controllers=*,-root-ca-certificate-publisher-controller'
  const started = await job.uses({ version: '1.2.3', apply: manifest, flags, envtest: 'true' })
  assert.deepEqual([started.code, started.stderr], [0, ''])
  assert.match(job.npm(), /^install --prefix \S+ --no-audit --no-fund --loglevel=error keelson@1\.2\.3\n$/)

  const { KUBECONFIG = '', KEELSON_URL = '', KUBEBUILDER_ASSETS = '', ...others } = job.variables()
  assert.deepEqual(others, {})
  assert.match(started.stdout, new RegExp(`^keelson .* at ${KEELSON_URL}$`, 'm'))
  assert.deepEqual(readdirSync(KUBEBUILDER_ASSETS).sort(), ['etcd', 'kube-apiserver', 'kubectl'])
  const server = targetOf(readFileSync(KUBECONFIG, 'utf8'))
  assert.equal(server.url, KEELSON_URL)
  const settings = await ask(server, '/api/v1/namespaces/default/configmaps/settings')
  assert.equal(settings.json.data.mode, 'fast')
  assert.deepEqual((await ask(server, '/api/v1/nodes')).json.items, [])

  const outputs = job.outputs()
  assert.deepEqual([outputs['url'], outputs['kubeconfig']], [KEELSON_URL, KUBECONFIG])
  assert.equal(readFileSync(outputs['log']!, 'utf8'), '')
  assert.ok(existsSync(join(job.path(), 'keelson')), 'the command is on the PATH of the next steps')

  const [pid] = job.servers()
  assert.ok(isAlive(pid!))
  const stopped = await job.uses({ command: 'stop' })
  assert.deepEqual([stopped.code, stopped.stdout, stopped.stderr], [0, '', ''])
  await eventually('the end of the server', () => (isAlive(pid!) ? undefined : true))
  assert.equal((await job.uses({ command: 'stop' })).code, 0, 'stopping what has been stopped is no failure')
})

test('inputs are data: nothing in them is run', patient, async t => {
  const job = newJob(t)
  const started = await job.uses({
    flags: '--nodes 0 --kubeconfig=$(touch\tflags)`touch\tflags`',
  })
  assert.equal(started.code, 1)
  assert.match(started.stderr, /^keelson: unknown argument flags\)`touch/m)
  assert.deepEqual(readdirSync(job.workspace), [])
})

const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
/** Each would have npm install something else than a version of this package, or is run by a shell that does not quote. */
const NO_VERSIONS = [
  'file:../evil',
  './evil',
  '/tmp/evil.tgz',
  'https://example.com/evil.tgz',
  'git+https://example.com/evil.git',
  'github:evil/evil',
  'npm:evil@1.0.0',
  'npm:evil',
  '--registry=https://example.com',
  '1.2.3 --registry=https://example.com',
  '1.2.3\n--registry=https://example.com',
  '1.2.3\nlatest',
  'latest\nlatest',
  ' latest',
  '1.2.3 evil',
  '^1.2.3',
  '>=0',
  '1.x',
  '*',
  '1',
  'next',
  '-1.2.3',
  '1.2.3-',
  '1.2.3+build',
  '$(touch version)`touch version`',
]

test('the action installs the version of its own checkout, and nothing but a version of this package', patient, async t => {
  const own = newJob(t)
  assert.equal((await own.uses({ flags: '--no-such-flag' })).code, 1)
  // At 6256f0f1 it was keelson@latest: whoever published last decided what ran.
  assert.match(own.npm(), new RegExp(` keelson@${VERSION.replaceAll('.', '\\.')}\n$`))
  for (const version of NO_VERSIONS) {
    const job = newJob(t)
    const refused = await job.uses({ version })
    assert.equal(refused.code, 1, version)
    assert.equal(refused.stdout, '::error title=Keelson::the version must be one such as 1.2.3 or 1.2.3-rc.1, or latest\n')
    // At 6256f0f1 npm was called with each of them.
    assert.throws(() => job.npm(), { code: 'ENOENT' }, version)
    assert.deepEqual(readdirSync(job.workspace), [])
  }
  for (const version of ['latest', '1.2.3-rc.1']) {
    const job = newJob(t)
    await job.uses({ version, flags: '--no-such-flag' })
    assert.ok(job.npm().endsWith(` keelson@${version}\n`))
  }
})

test('a server that does not start fails the step with its reason', patient, async t => {
  const job = newJob(t)
  const refused = await job.uses({ flags: '--no-such-flag' })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^keelson: unknown argument --no-such-flag/m)
  assert.match(refused.stdout, /^::error title=Keelson::the server has not started/m)
  assert.deepEqual([job.variables(), job.servers()], [{}, []])
  assert.equal((await job.uses({ command: 'stop' })).code, 0)

  const withoutNpm = await newJob(t, { npm: false }).uses({})
  assert.equal(withoutNpm.code, 1)
  assert.match(withoutNpm.stdout, /^::error title=Keelson::npm is not on the PATH/m)
})

test('the action passes every input on, and its outputs are those of a step', () => {
  const text = readFileSync(join(ROOT, 'action.yml'), 'utf8')
  for (const name of Object.keys(action.inputs)) assert.match(text, new RegExp(`\\binputs\\.${name}\\b`))
  const start = readFileSync(join(ROOT, 'action/start.sh'), 'utf8')
  for (const [name, { value }] of Object.entries<any>(action.outputs)) {
    assert.equal(value, `\${{ steps.start.outputs.${name} }}`)
    assert.match(start, new RegExp(`echo "${name}=`))
  }
  // An input in the text of a script would be run.
  for (const step of action.runs.steps) assert.doesNotMatch(step.run, /\$\{\{/)
})

test('the devcontainer feature installs the version that was chosen', patient, async t => {
  const folder = join(ROOT, 'devcontainer/keelson')
  const feature = JSON.parse(readFileSync(join(folder, 'devcontainer-feature.json'), 'utf8'))
  // At 6256f0f1 it was latest: whoever published last decided the content of containers.
  assert.deepEqual([feature.id, feature.options.version.default], ['keelson', VERSION])
  assert.match(feature.version, /^\d+\.\d+\.\d+$/)
  const scratch = temporaryDirectory(t)
  const bin = npmIn(scratch)
  const install = (env: Record<string, string>) => run('/bin/sh', [join(folder, 'install.sh')], { env, cwd: scratch })

  const chosen = await install({ PATH: [bin, NODE_FOLDER, ...SYSTEM].join(delimiter), VERSION: '1.2.3' })
  assert.deepEqual([chosen.code, chosen.stderr], [0, ''])
  assert.match(chosen.stdout, /^keelson \d+\.\d+\.\d+ /)
  assert.equal(readFileSync(join(scratch, 'npm.args'), 'utf8'), 'install --global --no-audit --no-fund --loglevel=error keelson@1.2.3\n')

  for (const version of NO_VERSIONS) {
    const refused = await install({ PATH: [bin, NODE_FOLDER, ...SYSTEM].join(delimiter), VERSION: version })
    assert.deepEqual([refused.code, refused.stdout], [1, ''], version)
    assert.match(refused.stderr, /^keelson: the version must be one such as/)
  }
  assert.equal(readFileSync(join(scratch, 'npm.args'), 'utf8').split('\n').length, 2, 'npm was not called again')

  const without = await install({ PATH: pathWithoutNpm(temporaryDirectory(t)) })
  assert.equal(without.code, 1)
  assert.match(without.stderr, /^keelson: npm is not on the PATH/)
})

/** Runs a composite action like a runner, as far as this one needs it: conditions on inputs, variables, files for results. */
function newJob(t: Scope, { npm = true } = {}) {
  // Before the folder goes away, which knows of them.
  t.after(() => {
    for (const pid of servers()) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  const folder = temporaryDirectory(t)
  const workspace = join(folder, 'workspace')
  mkdirSync(workspace)
  const file = (name: string) => join(folder, name)
  for (const name of ['env', 'output', 'path']) writeFileSync(file(name), '')
  const env = {
    PATH: npm ? [npmIn(folder), NODE_FOLDER, ...SYSTEM].join(delimiter) : pathWithoutNpm(folder),
    HOME: folder,
    RUNNER_TEMP: folder,
    GITHUB_ACTION_PATH: ROOT,
    GITHUB_ENV: file('env'),
    GITHUB_OUTPUT: file('output'),
    GITHUB_PATH: file('path'),
  }
  const pairs = (name: string): Record<string, string> =>
    Object.fromEntries(
      readFileSync(file(name), 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
  const servers = () =>
    readdirSync(folder)
      .map(name => join(folder, name, 'pid'))
      .filter(path => existsSync(path))
      .map(path => Number(readFileSync(path, 'utf8')))
  return {
    folder,
    workspace,
    servers,
    npm: () => readFileSync(file('npm.args'), 'utf8'),
    variables: () => pairs('env'),
    outputs: () => pairs('output'),
    path: () => readFileSync(file('path'), 'utf8').trim(),
    uses(given: Record<string, string>) {
      const defaults = Object.entries<any>(action.inputs).map(([name, input]) => [name, input.default])
      const inputs: Record<string, string> = { ...Object.fromEntries(defaults), ...given }
      const [step, ...more] = action.runs.steps.filter(({ if: condition }: { if: string }) => holds(condition, inputs))
      assert.deepEqual(more, [])
      const variables = Object.entries<string>(step.env ?? {}).map(([name, value]) => [name, filledIn(value, inputs)])
      return run('/bin/sh', ['-e', '-c', step.run], { cwd: workspace, env: { ...env, ...Object.fromEntries(variables) } })
    },
  }
}

function holds(condition: string, inputs: Record<string, string>): boolean {
  const [, name = '', operator, value] = /^inputs\.(\w+) (==|!=) '(\w+)'$/.exec(condition) ?? assert.fail(condition)
  return (inputs[name] === value) === (operator === '==')
}

const filledIn = (text: string, inputs: Record<string, string>) => text.replace(/\$\{\{ inputs\.(\w+) \}\}/g, (_, name) => inputs[name]!)

/** A folder with an npm that notes how it was called and installs the command of this repository. */
function npmIn(folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const command = join(bin, 'npm')
  writeFileSync(
    command,
    `#!/bin/sh
echo "$*" >>'${folder}/npm.args'
to='${bin}'
[ "$2" != --prefix ] || to=$3/node_modules/.bin
mkdir -p "$to"
printf '#!/bin/sh\\nexec "%s" "%s" "$@"\\n' '${process.execPath}' '${KEELSON}' >"$to/keelson"
chmod +x "$to/keelson"
`,
  )
  chmodSync(command, 0o755)
  return bin
}

/** A PATH without npm, wherever this machine has it. */
function pathWithoutNpm(folder: string): string {
  const bin = join(folder, 'only-sh')
  mkdirSync(bin)
  symlinkSync('/bin/sh', join(bin, 'sh'))
  return bin
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
