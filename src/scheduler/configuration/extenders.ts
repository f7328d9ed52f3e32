/** The extenders of a configuration, with the files that they name. */
import { readFileSync } from 'node:fs'
import { ConfigurationError } from '../../codec/configuration-document.ts'
import { pemBlocks } from '../../lib/pem.ts'
import type { WebhookEndpoint } from '../../transport/review-call.ts'
import type { ExtenderSettings } from '../extenders/extender.ts'
import { milliseconds } from './args.ts'
import type { CompleteProfile } from './complete.ts'
import type { ExtenderConfiguration } from './types.ts'

const DEFAULT_TIMEOUT_MS = 5000

/** Throws ConfigurationError. */
export function extendersFrom(extenders: readonly ExtenderConfiguration[]): readonly ExtenderSettings[] {
  return extenders.map(extender => {
    const { urlPrefix, filterVerb = '', prioritizeVerb = '', preemptVerb = '', bindVerb = '', managedResources = [] } = extender
    return {
      urlPrefix,
      endpoint: endpointOf(urlPrefix, trustOf(extender)),
      timeoutMs: (extender.httpTimeout ? milliseconds(extender.httpTimeout) : 0) || DEFAULT_TIMEOUT_MS,
      verbs: { filter: filterVerb, prioritize: prioritizeVerb, preempt: preemptVerb, bind: bindVerb },
      weight: Number(extender.weight ?? 0),
      knowsNodes: extender.nodeCacheCapable ?? false,
      managedResources: new Set(managedResources.map(({ name }) => name)),
      isIgnorable: extender.ignorable ?? false,
    }
  })
}

/** Resources that extenders compare in place of the scheduler: all profiles ignore these, and no others. Throws ConfigurationError. */
export function withIgnoredResources(
  profiles: readonly CompleteProfile[],
  extenders: readonly ExtenderConfiguration[],
): readonly CompleteProfile[] {
  const ignoredResources = extenders.flatMap(({ managedResources = [] }) =>
    managedResources.flatMap(({ name, ignoredByScheduler }) => (ignoredByScheduler ? [name] : [])),
  )
  if (ignoredResources.length === 0) return profiles
  if (!profiles.every(({ configured }) => configured.has('NodeResourcesFit')))
    throw new ConfigurationError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
  return profiles.map(profile => ({
    ...profile,
    pluginConfig: profile.pluginConfig.map(each =>
      each.name === 'NodeResourcesFit' ? { ...each, args: { ...each.args, ignoredResources } } : each,
    ),
  }))
}

type Trust = Pick<WebhookEndpoint, 'ca' | 'client' | 'servername' | 'skipsVerification'>

/** The address, or why there is none: that is reported by each call. */
function endpointOf(prefix: string, trust: Trust): WebhookEndpoint | string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(prefix)?.[1]?.toLowerCase() ?? ''
  if ((scheme !== 'http' && scheme !== 'https') || !URL.canParse(prefix)) return `unsupported protocol scheme "${scheme}"`
  const { hostname, port, pathname } = new URL(prefix)
  const isPlain = scheme === 'http'
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isPlain ? 80 : 443)),
    path: pathname,
    ...(isPlain ? { isPlain } : trust),
  }
}

/** Without certificates to trust, https is not verified where it is asked for. */
function trustOf({ tlsConfig = {}, enableHTTPS }: ExtenderConfiguration): Trust {
  const { caFile, caData, certFile, certData, keyFile, keyData, serverName, insecure } = tlsConfig
  const hasCa = Boolean(caFile || caData)
  const skipsVerification = insecure || (enableHTTPS && !hasCa)
  if (hasCa && skipsVerification) throw fail('specifying a root certificates file with the insecure flag is not allowed')
  const ca = contentOf(caData, caFile)
  const hasClient = Boolean((certFile || certData) && (keyFile || keyData))
  const [cert, key] = hasClient ? [contentOf(certData, certFile), contentOf(keyData, keyFile)] : ['', '']
  if (ca !== '' && pemBlocks(ca).blocks.length === 0) throw fail('unable to load root certificates: unable to parse bytes as PEM block')
  if (hasClient && pemBlocks(cert).blocks.length === 0) throw fail('tls: failed to find any PEM data in certificate input')
  if (hasClient && pemBlocks(key).blocks.length === 0) throw fail('tls: failed to find any PEM data in key input')
  return {
    ...(ca && { ca }),
    ...(hasClient && { client: { cert, key } }),
    ...(serverName && { servername: serverName }),
    ...(skipsVerification && { skipsVerification }),
  }
}

/** Data counts before a file. */
function contentOf(data: string | undefined, file: string | undefined): string {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  if (!file) return ''
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw fail(`open ${file}: ${REASONS[code ?? ''] ?? message}`)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
}

const fail = (why: string): ConfigurationError => new ConfigurationError(`couldn't build extenders: ${why}`)
