/** Texts made of figures: tables, cells and the chart. Pages have them between markers, `<!-- figures NAME -->` and `<!-- /figures -->`. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Comparison } from './compare-servers.ts'
import { type DartboardFigure, PUBLISHED } from './dartboard.ts'
import type { Figures, Machine } from './figures.ts'
import { count, micros, percent, rate } from './numbers.ts'
import type { EtcdWrites, Measurements, RequestFigure } from './sections.ts'

export const PAGES = [
  'README.md',
  'bench/README.md',
  'docs/capacity.md',
  'docs/comparison.md',
  'docs/decisions/006-plain-requests.md',
  'docs/decisions/010-metrics.md',
  'docs/own-kinds.md',
  'docs/workspaces.md',
] as const
export const CHART = 'bench/shares.svg'
export const SCHEDULER_CHART = 'bench/scheduler.svg'
const ROOT = new URL('../', import.meta.url)
const MARKED = /(<!-- figures ([\w-]+) -->)[\s\S]*?(<!-- \/figures -->)/g

export function writePages(figures: Figures): void {
  for (const page of PAGES) writeFileSync(new URL(page, ROOT), pageText(page, figures))
  writeFileSync(new URL(CHART, ROOT), chartOf(figures))
  writeFileSync(new URL(SCHEDULER_CHART, ROOT), schedulerChartOf(figures))
}

/** A page with the figures as they are now. */
export const pageText = (page: string, figures: Figures): string =>
  readFileSync(new URL(page, ROOT), 'utf8').replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
    const block = BLOCKS[name]
    if (block === undefined) throw new Error(`${page} shows figures that there are none of: ${name}`)
    return `${begin}${block(figures)}${end}`
  })

export const chartOf = (figures: Figures): string => chart(figures.requests?.costs ?? [])

/** The text of one part, as the page of the benchmarks has it. */
export const sectionText = <Name extends keyof Measurements>(name: Name, figures: Measurements[Name]): string => TEXTS[name](figures)

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, i) => (i === 0 ? '---' : '--:')), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')

const ms = (number: number) => `${number < 10 ? number.toFixed(1) : count(number)} ms`
const mb = (number: number) => `${number < 10 ? number.toFixed(1) : count(number)} MB`
const seconds = (inMs: number) => `${(inMs / 1000).toFixed(inMs < 1000 ? 2 : 1)} s`
const megabytes = (each: readonly number[]) => mb(each.reduce((sum, one) => sum + one, 0))
/** A figure and whether it is what it was meant to be. */
const aim = (text: string, isMet: boolean) => `${text}${isMet ? '' : ' ✗'}`
/** Idle shares are differences of two measurements: those that are lost in the noise, negative ones among them, have no digits. */
const shareOfCore = (share: number) => (share < 0.001 ? 'too little to measure' : `${(share * 100).toFixed(1)} % of a core`)
const factor = (theirs: number, ours: number) => `${(theirs / ours).toFixed(1)}`

const TEXTS: { readonly [Name in keyof Measurements]: (figures: Measurements[Name]) => string } = {
  start: ({ readyMs, readyCpuMs, idleMB, nodeMs }) =>
    table(
      ['cold start, empty store', 'Keelson', 'Node alone'],
      [
        ['until ready', ms(readyMs), ms(nodeMs)],
        ['processor time until then', ms(readyCpuMs), ''],
        ['resident memory a second later', mb(idleMB), ''],
      ],
    ),
  requests: ({ costs }) =>
    table(
      ['request', 'protocol', 'main thread', 'all threads', 'ceiling', 'rate', 'ceiling', 'share'],
      costs.map(({ name, protocol, keelson, ceiling }) => [
        name,
        protocol,
        micros(keelson.mainMicros),
        micros(keelson.allMicros),
        micros(ceiling.allMicros),
        rate(keelson.perSecond),
        rate(ceiling.perSecond),
        percent(keelson.perSecond, ceiling.perSecond),
      ]),
    ),
  plain: ({ costs }) =>
    table(
      ['main thread, over TLS', 'direct', 'by node:http', 'saved', 'HTTP/2'],
      costs.map(({ name, direct, streams, http2 }) => [
        name,
        micros(direct),
        micros(streams),
        percent(streams - direct, streams),
        micros(http2),
      ]),
    ),
  store: ({ creates }) =>
    table(
      ['creates over HTTPS, durable', 'Keelson', 'the store alone', 'share', 'target'],
      creates.map(({ writers, perSecond, storeAlone }) => [
        writers === 1 ? 'one writer' : `${writers} writers`,
        rate(perSecond),
        rate(storeAlone),
        percent(perSecond, storeAlone),
        aim('≥ 50 %', perSecond >= storeAlone / 2),
      ]),
    ),
  growth: ({ sizes }) =>
    table(
      ['objects', 'GET', 'page of 100', 'create', 'merge patch', 'resident'],
      sizes.map(({ objects, get, page, create, patch, residentMB }) => [
        count(objects),
        ...[get, page, create, patch].map(rate),
        mb(residentMB),
      ]),
    ),
  tests: ({ took, mbEach }) =>
    table(
      ['what', 'time', 'processor time', 'target'],
      [
        ...took.map(({ what, ms: time, cpuMs, targetMs }) => [
          what,
          ms(time),
          ms(cpuMs),
          targetMs === undefined ? '' : aim(`< ${targetMs} ms`, cpuMs < targetMs),
        ]),
        ['memory of each of ten servers', mb(mbEach), '', ''],
      ],
    ),
  workloads: ({ availableMs, deployments, pods, settledSeconds, getP99Ms, idleShare, idleMB }) =>
    table(
      ['what', 'Keelson', 'target'],
      [
        ['a Deployment of 3 pods is available after', ms(availableMs), aim('< 300 ms', availableMs < 300)],
        [
          `${deployments} Deployments with ${count(pods)} pods have settled after`,
          `${settledSeconds.toFixed(1)} s`,
          aim('< 20 s', settledSeconds < 20),
        ],
        ["p99 of another client's GET meanwhile", ms(getP99Ms), aim('< 50 ms', getP99Ms < 50)],
        ['processor time of all controllers and a node when idle', shareOfCore(idleShare), aim('< 1 %', idleShare < 0.01)],
        ['memory of all controllers and a node when idle', mb(idleMB), aim('< 15 MB', idleMB < 15)],
      ],
    ),
  admission: ({ without, byDefault, nonMatching, webhook }) =>
    table(
      ['what', 'Keelson', 'target'],
      [
        ['processor time of a create, without any plugin', micros(without), ''],
        [
          'with the plugins that are on by default',
          `${micros(byDefault)}, ${((byDefault / without - 1) * 100).toFixed(1)} % more`,
          aim('< 5 %', byDefault < without * 1.05),
        ],
        ...nonMatching.map(({ what, adds }) => [`1,000 that do not match (${what}) add`, micros(adds), aim('< 50 µs', adds < 50)]),
        ['creates through one fast webhook', rate(webhook.perSecond), aim('≥ 1,000/s', webhook.perSecond >= 1000)],
        ["p99 of another client's GET, alone and beside them", `${webhook.alone.toFixed(1)} and ${webhook.beside.toFixed(1)} ms`, ''],
      ],
    ),
  workspaces: ({ count: of, fresh, copy, idleShare, deleteCpuMs, leftMB }) =>
    table(
      ['a workspace', 'processor time', 'memory', 'target'],
      [
        ['as a new server', ms(fresh.cpuMs), mb(fresh.mb), aim('< 20 ms, < 1 MB', fresh.cpuMs < 20 && fresh.mb < 1)],
        ['as a copy of one with 50 objects', ms(copy.cpuMs), mb(copy.mb), ''],
        [`idle, ${count(2 * of)} of them`, shareOfCore(idleShare), '', ''],
        ['its deletion; what is left', ms(deleteCpuMs), `${leftMB.toFixed(2)} MB`, ''],
      ],
    ),
  apis: ({ sets }) =>
    table(
      ['start', 'resources', 'until ready', 'processor time', 'resident memory'],
      sets.map(({ set, resources, readyMs, cpuMs, mb: resident }) => [
        `\`--api ${set}\``,
        count(resources),
        ms(readyMs),
        ms(cpuMs),
        mb(resident),
      ]),
    ),
  executable: ({ node, executable, ratio }) =>
    table(
      ['start', 'until ready', 'processor time', 'resident memory'],
      [
        ['`node bin/keelson.js`', ms(node.readyMs), ms(node.cpuMs), mb(node.mb)],
        ['the single executable', ms(executable.readyMs), ms(executable.cpuMs), mb(executable.mb)],
        ['ratio, at most 1.2', aim(ratio.toFixed(2), ratio <= 1.2), '', ''],
      ],
    ),
  audit: ({ costs }) =>
    table(
      ['processor time of a request', 'protocol', 'of level None', 'mode', 'of level Metadata', 'more', 'target'],
      costs.map(({ name, protocol, mode, off, on, ratio }) => [
        name,
        protocol,
        micros(off.allMicros),
        mode,
        micros(on.allMicros),
        `${((ratio - 1) * 100).toFixed(1)} %`,
        name.startsWith('GET') ? aim('≤ 10 %', ratio <= 1.1) : '',
      ]),
    ),
  devices: ({ nodes, devicesPerNode, decisions }) =>
    table(
      [`scheduling a pod among ${count(nodes)} nodes with ${devicesPerNode} devices each; it claims`, 'median', 'p99', 'target'],
      decisions.map(({ what, medianMs, p99Ms }) => [what, ms(medianMs), ms(p99Ms), aim('< 10 ms', medianMs < 10)]),
    ),
  etcd: ({ writes, reads, load }) =>
    [
      table(
        ['creates on etcd', 'Keelson', 'bare HTTPS server', 'client alone', 'share', 'target', 'processor time of Keelson, of etcd'],
        writes.map(etcdWrites),
      ),
      table(
        ['GET', 'on etcd', 'on the embedded store', 'reads of etcd for each'],
        reads.map(({ connections, onEtcd, embedded, questions }) => [
          connections === 1 ? 'one connection' : `${connections} connections`,
          `${rate(onEtcd.perSecond)}, ${micros(onEtcd.micros)}`,
          `${rate(embedded.perSecond)}, ${micros(embedded.micros)}`,
          questions.toFixed(2),
        ]),
      ),
      `A start with ${count(load.objects)} objects in etcd takes ${seconds(load.ms)} (target: < 10 s).`,
    ].join('\n\n'),
  processes: ({ costs, computing, readyMs: [oneMs, twoMs, apartMs], bothMs, residentMB: [oneMB, twoMB], eachMB, supervisorMB }) =>
    [
      table(
        [
          '',
          'one process',
          'two processes',
          'throughput',
          'target',
          'two servers that share nothing',
          'two processes reach of them',
          'target',
          'of the client',
        ],
        costs.map(({ name, one, two, apart, clientShare, target }) => [
          name,
          rate(one.perSecond),
          rate(two.perSecond),
          `× ${(two.perSecond / one.perSecond).toFixed(2)}`,
          aim(`≥ ${target}`, two.perSecond / one.perSecond >= target),
          `× ${(apart.perSecond / one.perSecond).toFixed(2)}`,
          percent(two.perSecond, apart.perSecond),
          aim(`≥ ${percent(target, 2)}`, two.perSecond / apart.perSecond >= target / 2),
          aim(`${percent(clientShare, 1)} of a core`, clientShare < 0.25),
        ]),
      ),
      table(
        [
          'processor time of a request',
          'one process',
          'two processes',
          'two servers',
          'two processes need more than two servers',
          'target',
          'busiest thread of one process',
          'of two processes',
        ],
        costs.map(({ name, one, two, apart }) => [
          name,
          micros(one.micros),
          micros(two.micros),
          micros(apart.micros),
          percent(two.micros - apart.micros, apart.micros),
          aim('≤ 10 %', two.micros <= 1.1 * apart.micros),
          micros(one.busiestMicros),
          micros(two.busiestMicros),
        ]),
      ),
      `Two processes that do nothing but compute did × ${computing.toFixed(2)} of the work of one in this run: two cores would do × 2, and two threads of one core hardly more than one.`,
      `Ready after ${ms(oneMs)} with one process, ${aim(ms(twoMs), twoMs < 400)} with two (target: < 400 ms)${bothMs === undefined ? '' : `, both of which serve after ${ms(bothMs)}`}; two servers that are started at once are ready after ${ms(apartMs)}. Resident ${mb(oneMB)} with one, ${mb(twoMB)} with two: ${mb(eachMB)} for each process and ${mb(supervisorMB)} for the supervisor.`,
    ].join('\n\n'),
  fairness: ({ floods }) =>
    table(
      ['p99 of', 'alone', 'beside the flood', 'factor', 'the flood meanwhile'],
      floods.map(({ name, alone, beside, flood }) => [
        name,
        ms(alone),
        ms(beside),
        aim((beside / alone).toFixed(1), beside / alone <= 3),
        flood,
      ]),
    ),
  scale: ({ objects, watches, writesPerSecond, watchKB, p50, p99, events, wanted, cpuMicros, listMB, residentMB, peakMB }) =>
    table(
      [`${count(objects)} objects, ${count(watches)} open watches`, 'Keelson', 'target'],
      [
        ['memory of an idle watch', `${watchKB.toFixed(1)} KB`, aim('< 20 KB', watchKB < 20)],
        [
          `from write to event, ${writesPerSecond} writes/s, 10 watches each`,
          `p50 ${ms(p50)}, p99 ${ms(p99)}`,
          aim('p99 < 100 ms', p99 < 100),
        ],
        ['processor time of a write and its events', micros(cpuMicros), ''],
        ['events that arrived', `${count(events)} of ${count(wanted)}`, aim('all', events === wanted)],
        [
          `resident memory while the list of ${mb(listMB)} is sent`,
          `${mb(peakMB)}, before ${mb(residentMB)}`,
          aim('< twice', peakMB < 2 * residentMB),
        ],
      ],
    ),
  scheduler: ({ workloads }) =>
    table(
      ['workload of scheduler_perf', 'nodes', 'pods before', 'pods', 'Keelson', 'upstream demands', 'processor time of a pod'],
      workloads.map(({ name, nodes, before, pods, perSecond, threshold, allMicros }) => [
        name,
        count(nodes),
        count(before),
        count(pods),
        rate(perSecond),
        threshold === undefined ? '' : aim(rate(threshold), perSecond >= threshold),
        micros(allMicros),
      ]),
    ),
  dartboard: ({ keelson, kubeApiserver }) =>
    table(
      ['objects', 'server', 'creates', 'p95', 'pages of 5,000', 'p95', 'resident'],
      keelson.flatMap((figure, i) => {
        const published = PUBLISHED.find(({ objects }) => objects === figure.objects)
        const theirs = kubeApiserver?.[i]
        return [
          dartboardRow('Keelson', figure),
          ...(theirs ? [dartboardRow('kube-apiserver + etcd', theirs)] : []),
          ...(published ? [dartboardRow('published', published)] : []),
        ]
      }),
    ),
  nodes: ({ nodes, pods, readySeconds, settledSeconds, podMicros, getP50Ms, getP99Ms, residentMB, idleShare }) =>
    table(
      [`${count(nodes)} simulated nodes, ${count(pods)} pods`, 'Keelson', 'target'],
      [
        ['all nodes are ready after', `${readySeconds.toFixed(1)} s`, ''],
        ['all pods are available after', `${settledSeconds.toFixed(0)} s, ${rate(pods / settledSeconds)}`, ''],
        ['processor time of the server for a pod, from its creation until it runs', micros(podMicros), ''],
        ["another client's GET meanwhile", `p50 ${ms(getP50Ms)}, p99 ${ms(getP99Ms)}`, aim('p99 ≤ 100 ms', getP99Ms <= 100)],
        ['resident memory', mb(residentMB), ''],
        ['processor time when idle', shareOfCore(idleShare), ''],
      ],
    ),
  million: ({ sizes }) =>
    table(
      ['store', 'objects', 'creates', 'memory', 'of an object', 'start', 'memory then', 'GET', 'page of 500', 'create', 'LIST', 'event'],
      sizes.map(figure => [
        figure.store,
        count(figure.objects),
        rate(figure.createsPerSecond),
        mb(figure.residentMB),
        `${count(figure.bytesPerObject)} B`,
        seconds(figure.startMs),
        mb(figure.startedMB),
        micros(figure.getMicros),
        micros(figure.pageMicros),
        micros(figure.createMicros),
        `${figure.listSeconds.toFixed(2)} s`,
        aim(ms(figure.eventMs), figure.eventMs <= 100),
      ]),
    ),
  churn: ({ objects, writes, ratePerSecond, seconds: took, beforeMB, mostMB, afterMB, residentMB }) =>
    table(
      [
        `${count(writes)} writes to ${count(objects)} objects, ${(writes / ratePerSecond / 3600).toFixed(1)} hours at ${ratePerSecond}/s, made in ${count(took)} s`,
        'Keelson',
        'target',
      ],
      [
        ['size of the store before', mb(beforeMB), ''],
        ['at its largest', mb(mostMB), ''],
        ['afterwards', mb(afterMB), aim('≤ 3 times', afterMB <= 3 * beforeMB)],
        ['resident memory afterwards', mb(residentMB), ''],
      ],
    ),
}

function dartboardRow(server: string, figure: Omit<DartboardFigure, 'residentMB'> & { readonly residentMB?: number }): string[] {
  const { objects, createsPerSecond, createP95Ms, pagesPerSecond, pageP95Ms, residentMB } = figure
  const pages = `${pagesPerSecond.toFixed(pagesPerSecond < 100 ? 1 : 0)}/s`
  return [
    count(objects),
    server,
    rate(createsPerSecond),
    ms(createP95Ms),
    pages,
    ms(pageP95Ms),
    residentMB === undefined ? '' : mb(residentMB),
  ]
}

function etcdWrites({ members, writers, ours, https, alone }: EtcdWrites): string[] {
  return [
    `${writers === 1 ? 'one writer' : `${writers} writers`}, ${members === 1 ? 'one member' : `${members} members`}`,
    ...[ours, https, alone].map(({ perSecond }) => rate(perSecond)),
    percent(ours.perSecond, alone.perSecond),
    aim('≥ 60 %', ours.perSecond >= 0.6 * alone.perSecond),
    `${micros(ours.micros)}, ${micros(ours.etcdMicros)}`,
  ]
}

/** Processor time and rates of both servers. */
export function comparisonText({ versions, whole, keelson, kubeApiserver, requests }: Comparison): string {
  const standing = table(
    ['', 'Keelson, all of it', 'Keelson, no controllers', 'kube-apiserver + etcd', 'factor'],
    [
      [
        'start until ready',
        ...[whole, keelson, kubeApiserver].map(({ readyMs }) => seconds(readyMs)),
        factor(kubeApiserver.readyMs, keelson.readyMs),
      ],
      [
        'processor time until then',
        ...[whole, keelson, kubeApiserver].map(({ readyCpuMs }) => seconds(readyCpuMs)),
        factor(kubeApiserver.readyCpuMs, keelson.readyCpuMs),
      ],
      [
        'resident memory, idle',
        megabytes(whole.idleMB),
        megabytes(keelson.idleMB),
        kubeApiserver.idleMB.map(mb).join(' + '),
        factor(total(kubeApiserver.idleMB), total(keelson.idleMB)),
      ],
      [
        'resident memory, after the requests below',
        '',
        megabytes(keelson.usedMB),
        kubeApiserver.usedMB.map(mb).join(' + '),
        factor(total(kubeApiserver.usedMB), total(keelson.usedMB)),
      ],
    ],
  )
  const rows = requests.map(({ name, protocol, keelson: ours, kubeApiserver: theirs }) => [
    name,
    protocol,
    micros(ours.totalMicros),
    `${micros(theirs.allMicros)} + ${micros(theirs.totalMicros - theirs.allMicros)}`,
    factor(theirs.totalMicros, ours.totalMicros),
    rate(ours.perSecond),
    rate(theirs.perSecond),
  ])
  const head = ['processor time of', 'protocol', 'Keelson', 'kube-apiserver + etcd', 'factor', 'rate: Keelson', 'kube-apiserver']
  const who = `Keelson ${versions.keelson}, kube-apiserver ${versions.kubeApiserver}, etcd ${versions.etcd}.`
  return [who, standing, table(head, rows)].join('\n\n')
}

const total = (each: readonly number[]) => each.reduce((sum, one) => sum + one, 0)

const machineText = (machine: Machine) => {
  const { node, arch, processor, cores } = machine
  const busy = isBusy(machine) ? ` ${busyText(machine)}` : ''
  return `Node ${node} on ${arch} (${processor}), ${cores} cores; client and servers share them.${busy}`
}

/** The benchmarks alone keep a client and a server or two busy. */
const isBusy = ({ load, cores }: Machine) => load > 2 * cores
const busyText = ({ load }: Machine) =>
  `Others kept the machine busy (load ${load}): processor times are too high, times and rates say little.`

type Block = (figures: Figures) => string
const NOT_MEASURED = 'Not measured yet.'

/** A part as a block of its own, with its machine where that is not the one of the whole page. */
const block =
  <Name extends keyof Measurements>(name: Name): Block =>
  figures => {
    const part = figures[name]
    if (part === undefined) return `\n${NOT_MEASURED}\n`
    const note = noteAbout(part.machine, figures.start?.machine)
    return `\n${sectionText(name, part as Measurements[Name])}${note && `\n\n${note}`}\n`
  }

/** Says what a part was measured on, where that is not what the page says at its top. */
function noteAbout(machine: Machine, usual: Machine | undefined): string {
  if (!isSame(machine, usual)) return `Measured on another machine: ${machineText(machine)}`
  return isBusy(machine) ? busyText(machine) : ''
}

const isSame = (a: Machine, b: Machine | undefined) =>
  a.node === b?.node && a.arch === b.arch && a.processor === b.processor && a.cores === b.cores

/** A few words in a sentence or a cell. */
const words =
  <Name extends keyof Figures>(name: Name, text: (part: NonNullable<Figures[Name]>) => string): Block =>
  figures => {
    const part = figures[name]
    return part === undefined ? 'not measured yet' : text(part as NonNullable<Figures[Name]>)
  }

const tookOf = ({ took }: Measurements['tests'], what: string) => took.find(each => each.what.startsWith(what))!

const BLOCKS: Readonly<Record<string, Block>> = {
  machine: ({ start }) => (start === undefined ? NOT_MEASURED : `\nMeasured with ${machineText(start.machine)}\n`),
  start: block('start'),
  requests: block('requests'),
  plain: block('plain'),
  store: block('store'),
  growth: block('growth'),
  tests: block('tests'),
  workspaces: block('workspaces'),
  apis: block('apis'),
  executable: block('executable'),
  workloads: block('workloads'),
  admission: block('admission'),
  audit: block('audit'),
  devices: block('devices'),
  etcd: block('etcd'),
  processes: block('processes'),
  fairness: block('fairness'),
  scale: block('scale'),
  scheduler: block('scheduler'),
  dartboard: block('dartboard'),
  nodes: block('nodes'),
  million: block('million'),
  churn: block('churn'),
  compare: ({ compare }) =>
    compare === undefined ? `\n${NOT_MEASURED}\n` : `\nMeasured with ${machineText(compare.machine)} ${comparisonText(compare)}\n`,
  'keelson-start': words('compare', ({ whole }) => `${seconds(whole.readyMs)}, ${seconds(whole.readyCpuMs)} of processor time`),
  'keelson-memory': words('compare', ({ whole }) => megabytes(whole.idleMB)),
  'real-start': words(
    'compare',
    ({ kubeApiserver }) => `${seconds(kubeApiserver.readyMs)}, ${seconds(kubeApiserver.readyCpuMs)} of processor time`,
  ),
  'real-memory': words('compare', ({ kubeApiserver }) => megabytes(kubeApiserver.idleMB)),
  'keelson-first': words('compare', ({ whole }) => `${seconds(whole.readyMs)}, ${megabytes(whole.idleMB)}`),
  'real-first': words('compare', ({ kubeApiserver }) => `${seconds(kubeApiserver.readyMs)}, ${megabytes(kubeApiserver.idleMB)}`),
  'idle-share': words('workloads', ({ idleShare }) => shareOfCore(idleShare)),
  available: words('workloads', ({ availableMs }) => ms(availableMs)),
  settled: words(
    'workloads',
    ({ deployments, pods, settledSeconds }) =>
      `${deployments} Deployments with ${count(pods)} pods have settled after ${settledSeconds.toFixed(1)} s`,
  ),
  'fresh-state': words(
    'tests',
    tests => `${ms(tookOf(tests, '`reset` after one').cpuMs)} to ${ms(tookOf(tests, '`reset` after a definition').cpuMs)}`,
  ),
  'ten-servers': words(
    'tests',
    tests => `ten are ready after ${seconds(tookOf(tests, 'ten servers').cpuMs)} of processor time, ${mb(tests.mbEach)} each`,
  ),
  throughput: words('store', ({ creates }) => `${rate(creates[0]!.perSecond)} creates of ${creates[0]!.writers} writers over HTTPS`),
  'get-cost': words('requests', ({ costs }) => micros(costs[0]!.keelson.allMicros)),
  'flood-factor': words('fairness', ({ floods }) => {
    const factors = floods.map(({ alone, beside }) => beside / alone)
    return `${Math.min(...factors).toFixed(1)} to ${Math.max(...factors).toFixed(1)}`
  }),
  'process-creates': words('processes', ({ costs }) => {
    const { one, two, apart } = costs.find(({ name }) => name === 'create')!
    const times = (perSecond: number) => `${(perSecond / one.perSecond).toFixed(2)} times`
    return `${times(two.perSecond)} the creates of one, and two servers that share nothing ${times(apart.perSecond)}`
  }),
  'process-memory': words(
    'processes',
    ({ residentMB: [one], eachMB, supervisorMB }) =>
      `${mb(one)} with one process; with several ${mb(eachMB)} for each, and ${mb(supervisorMB)} for the supervisor`,
  ),
  'read-rate': words('requests', ({ costs }) => `${rate(costs[0]!.keelson.perSecond)} reads of one object`),
}

export const schedulerChartOf = ({ scheduler }: Figures): string =>
  bars({
    title: 'pods a second as a share of what upstream demands of its scheduler',
    rows: (scheduler?.workloads ?? []).flatMap(({ name, perSecond, threshold }) =>
      threshold === undefined ? [] : [{ name, share: perSecond / threshold }],
    ),
    most: 4,
  })

/** Bars of Keelson's share of each ceiling. */
const chart = (costs: readonly RequestFigure[]): string =>
  bars({
    title: 'rate as a share of the ceiling in the same run',
    rows: costs.map(({ name, protocol, keelson, ceiling }) => ({
      name: `${name}, ${protocol}`,
      share: keelson.perSecond / ceiling.perSecond,
    })),
    most: 1.2,
  })

type Bars = { readonly title: string; readonly rows: readonly { readonly name: string; readonly share: number }[]; readonly most: number }

/** A chart of shares; bars end at the largest that is shown in full. */
function bars({ title, rows, most }: Bars): string {
  const [left, width, step] = [310, 330, 22]
  const shown = rows.map(({ name, share }, i) => {
    const y = 30 + i * step
    const length = Math.min(share, most) * (width / most)
    return `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${name}</text><rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="15" fill="#2a6f97"/><text x="${(left + length + 6).toFixed(1)}" y="${y + 12}">${Math.round(share * 100)} %</text>`
  })
  const height = 50 + rows.length * step
  return `<svg xmlns="http://www.w3.org/2000/svg" width="720" height="${height}" viewBox="0 0 720 ${height}" font-family="sans-serif" font-size="12" fill="#333"><title>${title}</title><rect width="720" height="${height}" fill="white"/><text x="${left}" y="18" font-weight="bold">${title}</text>${shown.join('')}</svg>\n`
}
