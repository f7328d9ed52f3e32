/**
 * `npm run bench`: each figure beside its ceiling, measured alternately in the same run.
 *
 *   npm run bench                      everything but fairness and scale; prints only
 *   npm run bench -- --all             everything; writes bench/README.md and bench/shares.svg
 *   npm run bench -- --quick           short rounds, prints only
 *   npm run bench -- --only get,list   some of it, prints only: get, list, page, create, replace, patch, apply, watch, cpu,
 *                                      growth, start, tests, workloads, admission, devices, etcd, fairness, scale
 */
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { admission } from './admission.ts'
import { deviceFigures } from './devices.ts'
import { type Measured, onEtcd } from './etcd.ts'
import { fairness } from './fairness.ts'
import { fanOut } from './fan-out.ts'
import { configMap, deployment } from './objects.ts'
import { processorTime } from './processor-time.ts'
import { bodyOf, type Outcome, requestBytes, run, type Target } from './raw-client.ts'
import { chart, type Row, rate, table, writeInto } from './report.ts'
import { scale } from './scale.ts'
import { bareStore, newFolder, type Running, removeFolders, residentMB, startBare, startBareWrites, startKeelson } from './servers.ts'
import { type Took, testLibrary } from './test-library.ts'
import { workloads } from './workloads.ts'

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const all = args.includes('--all')
const only = args.includes('--only') ? args[args.indexOf('--only') + 1]!.split(',') : undefined
/** Fairness and scale disturb a machine for long; they are measured on request only. */
const ON_REQUEST = ['fairness', 'scale']
const wants = (name: string) => (only === undefined ? all || !ON_REQUEST.includes(name) : only.includes(name))
const seconds = quick ? 1 : 4
const rounds = quick ? 1 : 3
const NS = '/api/v1/namespaces/default/configmaps'

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!
const say = (text: string) => process.stderr.write(`${text}\n`)

/** Measures both alternately, so that what disturbs the machine disturbs both; medians of the rates. */
async function pair(name: string, ours: () => Promise<number>, ceiling: () => Promise<number>): Promise<{ ours: number; ceiling: number }> {
  const measured = { ours: [] as number[], ceiling: [] as number[] }
  for (let i = 0; i < rounds; i++) {
    measured.ours.push(await ours())
    measured.ceiling.push(await ceiling())
  }
  const result = { ours: median(measured.ours), ceiling: median(measured.ceiling) }
  say(`${name}: ${rate(result.ours)} of ${rate(result.ceiling)} (${Math.round((result.ours / result.ceiling) * 100)} %)`)
  return result
}

function checked(outcome: Outcome): number {
  if (outcome.failures > 0) throw new Error(`${outcome.failures} of ${outcome.requests} requests failed`)
  return outcome.perSecond
}

async function fill(target: Target, count: number, offset = 0): Promise<void> {
  const request = (iteration: number) => requestBytes('POST', NS, configMap(`cm-${offset + iteration}`, iteration))
  const { failures } = await run(target, { request, connections: 64, seconds: 600, requests: count })
  if (failures > 0) throw new Error(`${failures} objects could not be written`)
}

async function reads(rows: Row[], keelson: Running, dir: string): Promise<void> {
  for (const [key, name, path, connections, target] of [
    ['get', 'GET one object', `${NS}/cm-7`, 32, 0.6],
    ['list', 'LIST 2,000 objects', NS, 8, 0.7],
    ['page', 'page of 100', `${NS}?limit=100`, 16, undefined],
  ] as const) {
    if (!wants(key)) continue
    const body = await bodyOf(keelson.target, path)
    const bare = await startBare(dir, body, keelson.target)
    const request = () => requestBytes('GET', path)
    const rates = await pair(
      name,
      async () => checked(await run(keelson.target, { request, connections, seconds })),
      async () => checked(await run(bare.target, { request, connections, seconds })),
    )
    await bare.stop()
    const note = `bare HTTPS server, ${(body.length / 1024).toFixed(0)} KiB`
    rows.push({
      name,
      ours: rate(rates.ours),
      ceiling: rate(rates.ceiling),
      share: rates.ours / rates.ceiling,
      ...(target && { target }),
      note,
    })
  }
}

async function writes(rows: Row[], keelson: Running, dir: string): Promise<void> {
  const value = await bodyOf(keelson.target, `${NS}/cm-7`)
  let iterations = 0
  const create = () => requestBytes('POST', NS, configMap(`new-${++iterations}`))
  const jobs = [
    ['create', 'create', 64, 'create', create],
    ['create', 'create', 1, 'create', create],
    [
      'replace',
      'replace',
      64,
      'replace',
      (iteration: number) => requestBytes('PUT', `${NS}/cm-${iteration % 1900}`, configMap(`cm-${iteration % 1900}`, ++iterations)),
    ],
    [
      'patch',
      'merge patch',
      64,
      'replace',
      (iteration: number) =>
        requestBytes('PATCH', `${NS}/cm-${iteration % 1900}`, `{"data":{"turn":"p${++iterations}"}}`, 'application/merge-patch+json'),
    ],
  ] as const
  for (const [key, name, connections, mode, request] of jobs) {
    if (!wants(key)) continue
    const label = `${name}, ${connections === 1 ? 'one writer' : `${connections} writers`}`
    const rates = await pair(
      label,
      async () => checked(await run(keelson.target, { request, connections, seconds })),
      () => bareStore(value, { writers: connections, seconds, mode }),
    )
    rows.push({
      name: label,
      ours: rate(rates.ours),
      ceiling: rate(rates.ceiling),
      share: rates.ours / rates.ceiling,
      ...(key === 'create' && { target: 0.5 }),
      note: 'the store alone, no HTTP',
    })
  }
  if (!wants('create')) return
  const bare = await startBareWrites(dir, keelson.target)
  const load = { connections: 64, seconds }
  const rates = await pair(
    'create against bare HTTPS with the store',
    async () => checked(await run(keelson.target, { ...load, request: create })),
    async () => checked(await run(bare.target, { ...load, request: () => requestBytes('POST', '/', value) })),
  )
  await bare.stop()
  rows.push({
    name: 'create, 64 writers, over HTTPS',
    ours: rate(rates.ours),
    ceiling: rate(rates.ceiling),
    share: rates.ours / rates.ceiling,
    note: 'bare HTTPS server that stores the body as it is',
  })
}

async function applies(rows: Row[]): Promise<void> {
  if (!wants('apply')) return
  // No controller rolls the Deployments out meanwhile.
  const keelson = await startKeelson(newFolder(), ['--controllers=none'])
  const path = '/apis/apps/v1/namespaces/default/deployments'
  const names = Array.from({ length: 64 }, (_, i) => `web-${i}`)
  const apply = (name: string, manager: string, body: object) =>
    requestBytes('PATCH', `${path}/${name}?fieldManager=${manager}&force=true`, JSON.stringify(body), 'application/apply-patch+yaml')
  for (const name of names) {
    const { apiVersion, kind } = deployment(name)
    await run(keelson.target, { request: () => apply(name, 'deployer', deployment(name)), connections: 1, seconds: 10, requests: 1 })
    await run(keelson.target, {
      request: () => apply(name, 'scaler', { apiVersion, kind, metadata: { name }, spec: { replicas: 5 } }),
      connections: 1,
      seconds: 10,
      requests: 1,
    })
    await run(keelson.target, {
      request: () => apply(name, 'labeler', { apiVersion, kind, metadata: { name, labels: { team: 'blue' } } }),
      connections: 1,
      seconds: 10,
      requests: 1,
    })
  }
  let iterations = 0
  const rates = await pair(
    'apply of a Deployment',
    async () =>
      checked(
        await run(keelson.target, {
          request: iteration => {
            const { spec, ...rest } = deployment(names[iteration % 64]!, ++iterations)
            const { replicas: _, ...own } = spec
            return apply(names[iteration % 64]!, 'deployer', { ...rest, spec: own })
          },
          connections: 16,
          seconds,
        }),
      ),
    async () =>
      checked(
        await run(keelson.target, {
          request: iteration =>
            requestBytes('PUT', `${path}/${names[iteration % 64]}`, JSON.stringify(deployment(names[iteration % 64]!, ++iterations))),
          connections: 16,
          seconds,
        }),
      ),
  )
  rows.push({
    name: 'apply, 5 KiB Deployment, 3 managers',
    ours: rate(rates.ours),
    ceiling: rate(rates.ceiling),
    share: rates.ours / rates.ceiling,
    target: 1 / 3,
    note: 'a replace of the same object',
  })
  await keelson.stop()
}

async function fans(rows: Row[], keelson: Running, dir: string): Promise<void> {
  if (!wants('watch')) return
  const counts = { watchers: 300, writes: quick ? 30 : 150 }
  const sample = await bodyOf(keelson.target, `${NS}/cm-7`)
  const line = Buffer.concat([Buffer.from('{"type":"ADDED","object":'), sample, Buffer.from('}\n')])
  const bare = await startBare(dir, line, keelson.target)
  let iterations = 0
  const marker = '"kind":"ConfigMap"'
  const ours = () =>
    fanOut(
      {
        target: keelson.target,
        pid: keelson.pid,
        watchPath: `/api/v1/watch/namespaces/kube-public/configmaps?timeoutSeconds=600`,
        write: () => requestBytes('POST', '/api/v1/namespaces/kube-public/configmaps', configMap(`fan-${++iterations}`)),
        marker,
      },
      counts,
    )
  const theirs = () =>
    fanOut({ target: bare.target, pid: bare.pid, watchPath: '/watch', write: () => requestBytes('POST', '/', '{}'), marker }, counts)
  const cpu = { ours: [] as number[], theirs: [] as number[] }
  const rates = await pair(
    'watch fan-out',
    async () => {
      await run(keelson.target, {
        request: () => requestBytes('DELETE', '/api/v1/namespaces/kube-public/configmaps'),
        connections: 1,
        seconds: 60,
        requests: 1,
      })
      const { perSecond, cpuMicros } = await ours()
      cpu.ours.push(cpuMicros)
      return perSecond
    },
    async () => {
      const { perSecond, cpuMicros } = await theirs()
      cpu.theirs.push(cpuMicros)
      return perSecond
    },
  )
  await bare.stop()
  const note = `bare HTTPS server, ${counts.watchers} watchers; server CPU ${median(cpu.ours).toFixed(0)} against ${median(cpu.theirs).toFixed(0)} µs an event`
  rows.push({
    name: 'watch fan-out, events',
    ours: rate(rates.ours),
    ceiling: rate(rates.ceiling),
    share: rates.ours / rates.ceiling,
    target: 0.5,
    note,
  })
}

async function growth(): Promise<string> {
  if (!wants('growth')) return ''
  const keelson = await startKeelson()
  const lines: string[] = []
  let have = 0
  let iterations = 0
  for (const size of quick ? [100, 10_000] : [100, 10_000, 100_000]) {
    await fill(keelson.target, size - have, have)
    have = size
    const measure = async (request: (iteration: number) => Buffer, connections: number) =>
      rate(checked(await run(keelson.target, { request, connections, seconds })))
    const get = await measure(iteration => requestBytes('GET', `${NS}/cm-${iteration % size}`), 32)
    const page = await measure(() => requestBytes('GET', `${NS}?limit=100`), 16)
    const create = await measure(
      () => requestBytes('POST', '/api/v1/namespaces/kube-system/configmaps', configMap(`grow-${++iterations}`)),
      64,
    )
    const patch = await measure(
      iteration =>
        requestBytes('PATCH', `${NS}/cm-${iteration % size}`, `{"data":{"turn":"g${++iterations}"}}`, 'application/merge-patch+json'),
      64,
    )
    lines.push(`| ${size.toLocaleString('en-US')} | ${get} | ${page} | ${create} | ${patch} | ${residentMB(keelson.pid).toFixed(0)} MB |`)
    say(lines.at(-1)!)
  }
  await keelson.stop()
  const head = ['| objects | GET | page of 100 | create | merge patch | resident |', '|--:|--:|--:|--:|--:|--:|']
  return ['Cost grows with the answer, not with the store:', '', ...head, ...lines].join('\n')
}

async function starts(): Promise<string> {
  const times: number[] = []
  let idle = 0
  for (let i = 0; i < (quick ? 3 : 7); i++) {
    const keelson = await startKeelson()
    times.push(keelson.readyMs)
    await new Promise(resolve => setTimeout(resolve, 1000))
    idle = residentMB(keelson.pid)
    await keelson.stop()
  }
  const bare = await Promise.all([bareNodeMs()])
  const text = `Cold start to ready, empty store: ${median(times).toFixed(0)} ms (bare node: ${bare[0]!.toFixed(0)} ms). Resident when idle: ${idle.toFixed(0)} MB.`
  say(text)
  return text
}

async function workload(): Promise<string> {
  if (!wants('workloads')) return ''
  const { availableMs, deployments, pods, settledSeconds, getMs, idleShare, idleMB } = await workloads(quick)
  const p99 = [...getMs].sort((a, b) => a - b)[Math.floor(getMs.length * 0.99)]!
  const lines = [
    `| a Deployment of 3 pods is available after | ${median(availableMs).toFixed(0)} ms | < 300 ms |`,
    `| ${deployments} Deployments with ${pods} pods have settled after | ${settledSeconds.toFixed(1)} s | < 20 s |`,
    `| p99 of another client's GET meanwhile | ${p99.toFixed(1)} ms | < 50 ms |`,
    `| processor time of all controllers and a node when idle | ${(idleShare * 100).toFixed(1)} % of a core | < 1 % |`,
    `| memory of all controllers and a node when idle | ${idleMB.toFixed(0)} MB | < 15 MB |`,
  ]
  say(lines.join('\n'))
  return ['Workloads, on simulated nodes:', '', '| what | Keelson | target |', '|---|--:|--:|', ...lines].join('\n')
}

async function tests(): Promise<string> {
  if (!wants('tests')) return ''
  const { firstStart, start, close, reset, snapshot, restore, tenReady, tenClosed, mbEach } = await testLibrary(quick)
  const line = (what: string, took: readonly Took[], target = '') => {
    const [ms, cpuMs] = [median(took.map(each => each.ms)), median(took.map(each => each.cpuMs))]
    return `| ${what} | ${ms.toFixed(1)} ms | ${cpuMs.toFixed(1)} ms | ${target} |`
  }
  const lines = [
    line('the first `start` of a process, with the import', firstStart),
    line('a later `start`, controllers and a node included', start),
    line('`close`', close),
    line('`reset` after one config map', reset.little, '< 20 ms'),
    line('`reset` after a definition, 10 objects of it, 20 config maps, a namespace and a Deployment of 3 pods', reset.typical, '< 20 ms'),
    line('`reset` after 1,000 config maps', reset.much),
    line('`snapshot` of that Deployment and the rest', snapshot),
    line('`restore` after 20 config maps', restore, '< 20 ms'),
    line('ten servers in one process, all ready', tenReady),
    line('and all closed', tenClosed),
    `| memory of each | ${mbEach.toFixed(1)} MB | | |`,
  ]
  say(lines.join('\n'))
  const head = ['| what | time | processor time | target |', '|---|--:|--:|--:|']
  return ['Servers for tests, in the process of the tests, in memory:', '', ...head, ...lines].join('\n')
}

function devices(): string {
  if (!wants('devices')) return ''
  const { nodes, devicesPerNode, decisions } = deviceFigures(quick)
  const lines = decisions.map(
    ({ what, medianMs, p99Ms, pods }) => `| ${what} (${pods} pods) | ${medianMs.toFixed(1)} ms | ${p99Ms.toFixed(1)} ms | < 10 ms |`,
  )
  say(lines.join('\n'))
  const title = `Processor time of the scheduler for a pod that claims devices, among ${nodes} nodes with ${devicesPerNode} each:`
  return [title, '', '| what is claimed | median | p99 | target |', '|---|--:|--:|--:|', ...lines].join('\n')
}

async function etcd(): Promise<string> {
  if (!wants('etcd')) return ''
  const figures = await onEtcd({ quick })
  if (!figures) return 'On etcd: not measured, there is none on this machine.'
  const { writes, reads, load } = figures
  const lines = [
    ...writes.flatMap(({ members, writers, rounds }) => {
      const of = (whose: keyof (typeof rounds)[number], what: keyof Measured) => median(rounds.map(round => round[whose][what]))
      const [ours, https, bare] = [of('ours', 'perSecond'), of('https', 'perSecond'), of('bare', 'perSecond')]
      const who = `${writers === 1 ? 'one writer' : `${writers} writers`}, ${members === 1 ? 'one member' : `${members} members`}`
      const percent = (part: number, whole: number) => `${Math.round((part / whole) * 100)} %`
      const micros = (['ours', 'https', 'bare'] as const).map(whose => of(whose, 'micros').toFixed(0)).join(', ')
      const etcdMicros = (['ours', 'https', 'bare'] as const).map(whose => of(whose, 'etcdMicros').toFixed(0)).join(', ')
      return [
        `| creates, ${who}, beside the same client making the transactions alone | ${rate(ours)} of ${rate(bare)}, ${percent(ours, bare)} | ≥ 60 % |`,
        `| the same beside a bare HTTPS server that makes a transaction for each | ${rate(ours)} of ${rate(https)}, ${percent(ours, https)}; that one reaches ${percent(https, bare)} | |`,
        `| processor time of one: Keelson, bare HTTPS server, client alone; of etcd for each | ${micros} µs; ${etcdMicros} µs | |`,
      ]
    }),
    ...reads.map(
      ({ connections, onEtcd, embedded, questions }) =>
        `| GET, ${connections === 1 ? 'one connection' : `${connections} connections`}, and on the embedded store | ${rate(onEtcd.perSecond)}, ${onEtcd.micros.toFixed(0)} µs; ${rate(embedded.perSecond)}, ${embedded.micros.toFixed(0)} µs; ${questions.toFixed(2)} questions to etcd for each | one question |`,
    ),
    `| start with ${load.objects.toLocaleString('en')} objects | ${(load.ms / 1000).toFixed(1)} s | < 10 s |`,
  ]
  say(lines.join('\n'))
  return ['On etcd, synced to disk, all on the same machine:', '', '| what | Keelson | target |', '|---|--:|--:|', ...lines].join('\n')
}

async function processorTimes(): Promise<string> {
  if (!wants('cpu')) return ''
  const lines = (await processorTime({ quick })).map(
    ({ what, mainMicros, allMicros }) => `| ${what} | ${mainMicros.toFixed(0)} µs | ${allMicros.toFixed(0)} µs |`,
  )
  say(lines.join('\n'))
  return ['Processor time of a request, over HTTPS:', '', '| of | main thread | all threads |', '|---|--:|--:|', ...lines].join('\n')
}

async function admitted(): Promise<string> {
  if (!wants('admission')) return ''
  const { without, byDefault, nonMatching, webhook } = await admission({ quick })
  const share = (byDefault / without - 1) * 100
  const lines = [
    `| processor time of a create, without any plugin | ${without.toFixed(0)} µs | |`,
    `| with the plugins that are on by default | ${byDefault.toFixed(0)} µs, ${share.toFixed(1)} % more | < 5 % |`,
    ...nonMatching.map(({ what, adds }) => `| 1,000 that do not match (${what}) add | ${adds.toFixed(0)} µs | < 50 µs |`),
    `| creates through one fast webhook | ${rate(webhook.perSecond)} | ≥ 1,000/s |`,
    `| p99 of another client's GET, alone and beside them | ${webhook.alone.toFixed(1)} and ${webhook.beside.toFixed(1)} ms | |`,
  ]
  say(lines.join('\n'))
  return ['Admission:', '', '| what | Keelson | target |', '|---|--:|--:|', ...lines].join('\n')
}

async function fair(): Promise<string> {
  if (!wants('fairness')) return ''
  const results = await fairness(quick ? 1 : 2.5)
  const lines = results.map(({ name, alone, beside, flood }) => {
    const factor = beside / alone
    return `| ${name} | ${alone.toFixed(1)} ms | ${beside.toFixed(1)} ms | ${factor.toFixed(1)}${factor > 3 ? ' ✗' : ''} | ${flood} |`
  })
  say(lines.join('\n'))
  return [
    'One client with 1,000 requests in flight beside another that waits for each answer; its p99 may grow by a factor of 3:',
    '',
    '| p99 of | alone | beside the flood | factor | the flood meanwhile |',
    '|---|--:|--:|--:|---|',
    ...lines,
  ].join('\n')
}

async function scales(): Promise<string> {
  if (!wants('scale')) return ''
  const job = quick
    ? { objects: 10_000, watches: 1000, writesPerSecond: 500, seconds: 3 }
    : { objects: 100_000, watches: 5000, writesPerSecond: 500, seconds: 20 }
  const result = await scale(job)
  const { watchKB, p50, p99, events, wanted, cpuMicros, listMB, residentMB: resident, peakMB } = result
  const lines = [
    `| memory of an idle watch | ${watchKB.toFixed(1)} KB | < 20 KB |`,
    `| from write to event, ${job.writesPerSecond} writes/s, 10 watches each | p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms | p99 < 100 ms |`,
    `| processor time of a write and its events | ${cpuMicros.toFixed(0)} µs | |`,
    `| events that arrived | ${events.toLocaleString('en-US')} of ${wanted.toLocaleString('en-US')} | all |`,
    `| resident memory while the list of ${listMB.toFixed(0)} MB is sent | ${peakMB.toFixed(0)} MB, before ${resident.toFixed(0)} MB | < twice |`,
  ]
  say(lines.join('\n'))
  const head = `${job.objects.toLocaleString('en-US')} objects and ${job.watches.toLocaleString('en-US')} open watches on one server:`
  return [head, '', '| what | Keelson | target |', '|---|--:|--:|', ...lines].join('\n')
}

async function bareNodeMs(): Promise<number> {
  const { spawnSync } = await import('node:child_process')
  return median(
    Array.from({ length: 5 }, () => {
      const began = performance.now()
      spawnSync(process.execPath, ['-e', '0'])
      return performance.now() - began
    }),
  )
}

const ON_ONE_SERVER = ['get', 'list', 'page', 'create', 'create-one', 'replace', 'patch', 'apply', 'watch']
const rows: Row[] = []
const dir = newFolder()
const cold = wants('start') ? await starts() : ''
if (ON_ONE_SERVER.some(wants)) {
  const keelson = await startKeelson(dir)
  await fill(keelson.target, 2000)
  await reads(rows, keelson, dir)
  await writes(rows, keelson, dir)
  await applies(rows)
  await fans(rows, keelson, dir)
  await keelson.stop()
}
const timed = await processorTimes()
const grown = await growth()
const tested = await tests()
const worked = await workload()
const admitting = await admitted()
const allocated = devices()
const overEtcd = await etcd()
const shared = await fair()
const scaled = await scales()
removeFolders()

const where = `Measured with Node ${process.versions.node} on ${process.arch}, ${cpus().length} cores, client and server on the same machine.`
const shares = rows.length > 0 ? `${table(rows)}\n\n![shares](shares.svg)` : ''
const sections = [where, shares, cold, timed, grown, tested, worked, admitting, allocated, overEtcd, shared, scaled]
const text = sections.filter(section => section !== '').join('\n\n')
process.stdout.write(`${text}\n`)
if (all && !quick && only === undefined) {
  writeInto('bench/README.md', text)
  writeFileSync('bench/shares.svg', chart(rows))
}
