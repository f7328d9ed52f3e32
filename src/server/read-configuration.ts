/** Reads and checks the configuration of a server, before anything is opened. */
import type { Auditor } from '../audit/auditor.ts'
import { createLog, type Log } from '../http/observability/log.ts'
import type { Tracer } from '../http/tracing/tracer.ts'
import { systemClock } from '../lib/clock.ts'
import { aggregate } from '../lib/go-text.ts'
import type { Kind } from '../schema/kind.ts'
import { CURRENT_RELEASE, type Releases } from '../schema/lifecycle.ts'
import { resourcesOf } from '../schema/resource.ts'
import { VERSION } from '../version.ts'
import { readSettings } from './admission/admission-plugins.ts'
import type { AuditParts } from './audit/open-audit.ts'
import { isAudited } from './audit-config.ts'
import { UID_GATE } from './bootstrap-objects/authentication-trust.ts'
import { type Config, ConfigError, changedSettings } from './config.ts'
import { kindsOfNodes } from './controllers/simulated-nodes.ts'
import type { Egress } from './egress.ts'
import { PEER_GATE } from './extensions/peers.ts'
import { readFeatureGates } from './feature-gates.ts'
import { type OwnFiles, readOwnFiles } from './files/own-files.ts'
import { readSchedulerFile } from './files/scheduler-file.ts'
import { warnOfNamedFiles } from './files/trusted-files.ts'
import { nodeRanges } from './network/node-cidrs.ts'
import { ReleaseError, readReleases } from './releases.ts'
import { RuntimeConfigError } from './runtime-config.ts'
import { type KindsOfServer, servedKinds } from './served-kinds.ts'
import type { Assembly, ServerResources, WorkspaceParts } from './start-parts.ts'
import type { TracingParts } from './tracing/open-tracing.ts'

/** Reads and checks the whole configuration before anything is opened. */
export async function readConfiguration(config: Config, assembly: Assembly) {
  const { clock = systemClock } = assembly
  const releases = releasesOf(config)
  const gate = await gatesOf(config, releases)
  const { siblings, workspace } = assembly
  const makeResources = async () => resourcesIn(config, await kindsOf(config, releases, gate), { releases, added: assembly.kinds ?? [] })
  const keeper = workspace ?? assembly.machine
  const resources = keeper?.resources ? await keeper.resources(makeResources) : await makeResources()
  const format = config.loggingFormat ?? (process.stderr.isTTY ? 'text' : 'json')
  const log = assembly.machine?.log ?? createLog(config.logLevel, format, siblings && { process: siblings.number })
  logStart(config, log)
  // About the configuration, which is that of all processes.
  const warn = (message: string) => (siblings && !siblings.isFirst ? undefined : log.warn({}, message))
  warnOfNamedFiles(config, warn)
  if (config.requestheaderUidHeaders.length > 0 && !gate(UID_GATE))
    throw new ConfigError(`--requestheader-uid-headers requires the "${UID_GATE}" feature to be enabled`)
  checkPeerFlags(config, gate)
  const files = filesOf(config, workspace)
  const podRanges = config.allocateNodeCidrs ? nodeRanges(config) : undefined
  const admissionSettings = await readSettings(config, gate, warn)
  const schedulerSettings = await readSchedulerFile(config, gate)
  const egress = await egressOf(config)
  const dial = egress.controlplane
  const auditor = workspace ? workspace.auditor : await auditorOf(config, { dial, log, clock, siblings, watcher: assembly.auditWatcher })
  if (auditor && !workspace) assembly.onClose(() => auditor.close())
  const tracer = await tracerOf(config, { log, clock })
  if (tracer) assembly.onClose(() => tracer.close())
  return {
    config,
    assembly,
    clock,
    now: () => new Date(clock.now()),
    gate,
    releases,
    resources,
    log,
    warn,
    files,
    podRanges,
    admissionSettings,
    egress,
    schedulerSettings,
    auditor,
    tracer,
  }
}
export type Configured = Awaited<ReturnType<typeof readConfiguration>>

/** As in kube-apiserver, flags of a feature that is off are errors. */
function checkPeerFlags({ peerCaFile, peerAdvertiseIp, peerAdvertisePort }: Config, gate: (name: string) => boolean): void {
  if (gate(PEER_GATE)) return
  const flags = { 'peer-ca-file': peerCaFile, 'peer-advertise-ip': peerAdvertiseIp, 'peer-advertise-port': peerAdvertisePort }
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  if (given.length > 0) throw new ConfigError(aggregate(given.map(([flag]) => `--${flag} requires ${PEER_GATE} feature to be turned on`)))
}

/** The configured files. The users and the authority of a workspace are in none. */
function filesOf(config: Config, workspace: WorkspaceParts | undefined): OwnFiles {
  const files = readOwnFiles(config)
  return workspace ? { ...files, tokens: workspace.tokens, server: { cert: workspace.authority, key: '' } } : files
}

function releasesOf(config: Config): Releases {
  try {
    return readReleases(config)
  } catch (error) {
    throw error instanceof ReleaseError ? new ConfigError(`--emulated-version: ${error.message}`) : error
  }
}

async function kindsOf(config: Config, releases: Releases, gate: (name: string) => boolean): Promise<KindsOfServer> {
  try {
    return await servedKinds({ ...config, releases, gate })
  } catch (error) {
    throw error instanceof RuntimeConfigError ? new ConfigError(`--runtime-config: ${error.message}`) : error
  }
}

/** The gates; their stages in earlier releases are loaded only for one that is emulated. */
async function gatesOf({ featureGates }: Config, releases: Releases): Promise<(name: string) => boolean> {
  const isCurrent = releases.emulated === CURRENT_RELEASE
  return readFeatureGates(featureGates, isCurrent ? { releases } : (await import('./former-gates.ts')).gateOptions(releases))
}

/** The proxies that connections go through; their code is loaded only if there are any. */
async function egressOf({ egressSelectorConfigFile: file }: Config): Promise<Egress> {
  return file === undefined ? {} : (await import('./egress.ts')).readEgress(file)
}

/** Opens the audit where there is one: the others do not load its code. */
async function auditorOf(config: Config, parts: AuditParts): Promise<Auditor | undefined> {
  if (!isAudited(config.audit)) return undefined
  return (await import('./audit/open-audit.ts')).openAudit(config, parts)
}

/** Opens the export of traces where there is one: the others do not load its code. */
async function tracerOf(config: Config, parts: TracingParts): Promise<Tracer | undefined> {
  return config.tracingConfigFile === undefined ? undefined : (await import('./tracing/open-tracing.ts')).openTracing(config, parts)
}

function logStart(config: Config, log: Log): void {
  log.info(
    {
      version: VERSION,
      node: process.version,
      pid: process.pid,
      address: `${config.host}:${config.port}`,
      data: { memory: 'in memory', embedded: config.dataDir, etcd: config.etcdServers.join(',') }[config.store],
      settings: changedSettings(config),
    },
    'starting',
  )
}

/** The resources of all kinds; those of kinds that are turned off are known to the server alone. */
function resourcesIn(
  config: Config,
  { served, unserved }: KindsOfServer,
  { releases, added }: { readonly releases: Releases; readonly added: readonly Kind<any>[] },
): ServerResources {
  const others = [...kindsOfNodes(config), ...added]
  const resources = resourcesOf([...served, ...others, ...unserved], config.groupDomain, releases)
  const count = served.length + others.length
  return { served: resources.slice(0, count), unserved: resources.slice(count) }
}
