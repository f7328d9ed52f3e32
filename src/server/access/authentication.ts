/** Authentication: every configured authenticator, and the tokens that this server signs itself. */
import { createPrivateKey } from 'node:crypto'
import type { Reader } from '../../admission/reader.ts'
import type { FindBound } from '../../authn/account-claims.ts'
import { AccountTokens, type AccountTokensParts } from '../../authn/account-tokens.ts'
import { Authenticators, authenticatedUser } from '../../authn/authenticator.ts'
import { CertificateAuthenticator } from '../../authn/client-certificate.ts'
import type { ExternalSigner } from '../../authn/external-signer.ts'
import { signToken } from '../../authn/json-web-token.ts'
import { OidcAuthenticator, type OidcSettings } from '../../authn/oidc.ts'
import { RequestHeaderAuthenticator, type RequestHeaderSettings } from '../../authn/request-header.ts'
import { BearerAuthenticator, type TokenAuthenticator, TokenChain } from '../../authn/token.ts'
import { TokenFile } from '../../authn/token-file.ts'
import { signingKey, type VerificationKey } from '../../authn/verification-keys.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import { formatDuration } from '../../lib/duration.ts'
import { newUuid } from '../../lib/environment.ts'
import type { Access, TokenFinding } from '../../schema/access.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { type Config, ConfigError, DEFAULT_ISSUER } from '../config.ts'
import { loadTokenKey } from '../credentials/pki.ts'
import type { Egress } from '../egress.ts'
import type { OwnFiles } from '../files/own-files.ts'
import type { AccessMetrics } from './access-metrics.ts'
import { httpsFetch } from './https-fetch.ts'

/** The authentication of a server, as configured. */
export type Authentication = {
  readonly authenticator: Authenticators
  readonly accounts: AccountTokens
  readonly issuer: string
  /** Keys with which others can verify this server's tokens. */
  readonly keys: readonly VerificationKey[]
  /** The part that kinds may use. */
  readonly access: Pick<Access, 'authenticate' | 'audiences' | 'tokenLifetime' | 'issueToken' | 'find'>
  /** Resolves when everything new is on disk. */
  readonly saved: Promise<void>
}

export type AuthenticationParts = {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The folder of keys; undefined keeps them in memory alone. */
  readonly directory: string | undefined
  readonly files: OwnFiles
  /** The keys that all servers over one store share. */
  readonly sharedKeys: ReadonlyMap<string, string> | undefined
  readonly reader: Reader
  readonly log: Log
  /** Called at every use of a token in a secret. */
  readonly onLegacyUse: (secret: AnyObject) => void
  readonly metrics: AccessMetrics
  /** How webhooks and issuers are connected to. */
  readonly egress: Egress
  readonly gate: (name: string) => boolean
  /** Ends connections to webhooks. */
  readonly signal: AbortSignal
}

/** Creates the configured authenticators. */
export async function openAuthentication(config: Config, parts: AuthenticationParts): Promise<Authentication> {
  const { reader, gate, log, onLegacyUse, metrics, now } = parts
  const issuers = config.serviceAccountIssuers.length === 0 ? [DEFAULT_ISSUER] : config.serviceAccountIssuers
  const audiences = config.apiAudiences.length === 0 ? [issuers[0]!] : config.apiAudiences
  const { sign, verification, keys, mostSeconds, saved } = await tokenKeys(config, parts)
  const webhookGroup = `admissionregistration.${config.groupDomain}`
  const find: FindBound = (plural, namespace, name) => {
    const group = plural.endsWith('webhookconfigurations') ? webhookGroup : ''
    return reader.get({ group, version: 'v1', plural }, name, namespace)
  }
  const accounts = new AccountTokens({
    issuers,
    sign,
    keys: verification,
    audiences,
    find,
    now,
    newId: newUuid,
    mayBindWebhooks: gate('APIServerWebhookAuthenticationToken'),
    onLegacyUse,
  })
  const configured = await configuredIssuers(config, parts, { audiences, ownIssuers: issuers })
  const tokens = new TokenChain(await tokenAuthenticators(config, parts, { accounts, audiences, configured: configured?.tokens }))
  const chain = [
    ...(parts.files.proxyCa === undefined ? [] : [new RequestHeaderAuthenticator(requestHeaderSettings(config), now)]),
    new CertificateAuthenticator({
      now,
      find,
      hasUids: gate('AllowParsingUserUIDFromCertAuth'),
      seen: remainingMs => metrics.certificateSeen(remainingMs / 1000),
    }),
    new BearerAuthenticator(tokens, audiences),
  ]
  const authenticator = new Authenticators(chain, {
    anonymous: (configured?.anonymous?.enabled ?? true) && isAnonymousAllowed(config, log),
    anonymousPaths: configured?.anonymous?.paths,
  })
  const access = accessOf(config, { accounts, audiences, tokens, mostSeconds, reader })
  return { authenticator, accounts, issuer: issuers[0]!, keys, saved, access }
}

type TokenKeys = {
  readonly sign: AccountTokensParts['sign']
  readonly verification: AccountTokensParts['keys']
  /** Keys with which others can verify tokens. */
  readonly keys: readonly VerificationKey[]
  /** The longest life of a token that an external signer gives. */
  readonly mostSeconds: number | undefined
  readonly saved: Promise<void>
}

/** The key that signs tokens, of a file, an external signer or the server itself, and those that verify them. */
async function tokenKeys(config: Config, { directory, files, sharedKeys, log, signal }: AuthenticationParts): Promise<TokenKeys> {
  const external = await externalSigner(config, { log, signal })
  if (external) {
    const { published: keys, mostSeconds } = external
    return { sign: claims => external.sign(claims), verification: external, keys, mostSeconds, saved: Promise.resolve() }
  }
  const made = files.signingKey ? undefined : loadTokenKey(directory, sharedKeys)
  const signing = files.signingKey ?? signingKey(createPrivateKey(made!.key))
  const keys = [signing, ...files.tokenKeys.filter(({ id }) => id !== signing.id)]
  return {
    sign: claims => signToken(claims, signing),
    verification: { current: keys },
    keys,
    mostSeconds: undefined,
    saved: made?.saved ?? Promise.resolve(),
  }
}

/** The issuers of the authentication configuration, if there is one. */
async function configuredIssuers(
  config: Config,
  { egress, gate, metrics, log, signal }: AuthenticationParts,
  own: { readonly audiences: readonly string[]; readonly ownIssuers: readonly string[] },
) {
  if (config.authenticationConfig === undefined) return undefined
  const { configuredIssuers } = await import('./configured-tokens.ts')
  return configuredIssuers({ config, ...own, egress, gate, metrics, log, signal })
}

type TokenParts = {
  readonly accounts: AccountTokens
  readonly audiences: readonly string[]
  readonly configured: TokenAuthenticator | undefined
}

/** The authenticators of bearer tokens, in the order in which they are asked. */
async function tokenAuthenticators(
  config: Config,
  { files, reader, egress, gate, log, metrics, now, signal }: AuthenticationParts,
  { accounts, audiences, configured }: TokenParts,
): Promise<TokenAuthenticator[]> {
  const authenticators: TokenAuthenticator[] = files.tokens ? [new TokenFile(files.tokens, audiences)] : []
  authenticators.push(accounts)
  if (config.enableBootstrapTokenAuth) {
    const { BootstrapTokens } = await import('../../authn/bootstrap-token.ts')
    const find = (namespace: string, name: string) => reader.get({ group: '', version: 'v1', plural: 'secrets' }, name, namespace)
    authenticators.push(new BootstrapTokens({ find, audiences, now }))
  }
  const settings = oidcSettings(config)
  if (settings) {
    const observer = metrics.keySets.observerOf(settings.issuer, gate)
    authenticators.push(new OidcAuthenticator({ settings, audiences, fetch: httpsFetch(files.oidcCa), ...observer, now }))
  }
  if (configured) authenticators.push(configured)
  if (config.authenticationTokenWebhookConfigFile !== undefined) {
    const { tokenWebhook } = await import('./configured-tokens.ts')
    authenticators.push(tokenWebhook({ config, audiences, dial: egress.controlplane, log, signal }))
  }
  return authenticators
}

type AccessParts = Pick<TokenKeys, 'mostSeconds'> & {
  readonly accounts: AccountTokens
  readonly audiences: readonly string[]
  readonly tokens: TokenChain
  readonly reader: Reader
}

/** The part of authentication that kinds may use. */
function accessOf(config: Config, { accounts, audiences, tokens, mostSeconds, reader }: AccessParts): Authentication['access'] {
  const { serviceAccountMaxTokenExpirationMs: maxMs, serviceAccountExtendTokenExpiration: isExtended } = config
  return {
    audiences,
    async authenticate(token, requestedAudiences, request): Promise<TokenFinding> {
      const found = await tokens.authenticate(token, requestedAudiences.length === 0 ? audiences : requestedAudiences, request)
      return found.outcome === 'user' ? { ...found, user: authenticatedUser(found.user) } : found
    },
    tokenLifetime: { mostSeconds: maxMs === 0 ? mostSeconds : Math.floor(maxMs / 1000), isExtended },
    issueToken: claims => accounts.issue(claims),
    find: (resource, namespace, name) => reader.get(resource, name, namespace),
  }
}

/** With AlwaysAllow anyone who reaches the port could do everything, so anonymous requests are refused then. */
function isAnonymousAllowed({ anonymousAuth = true, authorizationMode }: Config, log: Log): boolean {
  if (!anonymousAuth || !authorizationMode.includes('AlwaysAllow')) return anonymousAuth
  log.warn({}, ANONYMOUS_RESET)
  return false
}
const ANONYMOUS_RESET =
  'AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer'

function requestHeaderSettings(config: Config): RequestHeaderSettings {
  const lowerCase = (names: readonly string[]) => names.map(name => name.trim().toLowerCase())
  return {
    allowedNames: config.requestheaderAllowedNames,
    usernameHeaders: lowerCase(config.requestheaderUsernameHeaders),
    uidHeaders: lowerCase(config.requestheaderUidHeaders),
    groupHeaders: lowerCase(config.requestheaderGroupHeaders),
    extraHeaderPrefixes: lowerCase(config.requestheaderExtraHeadersPrefix),
  }
}

function oidcSettings({ oidc }: Config): OidcSettings | undefined {
  const { issuerUrl: issuer, clientId, usernameClaim, usernamePrefix = '', groupsClaim = '', groupsPrefix = '' } = oidc
  if (issuer === undefined || clientId === undefined) return undefined
  // E-mail addresses are unique everywhere; any other name is unique only together with its issuer.
  const given = usernamePrefix === '' && usernameClaim !== 'email' ? `${issuer}#` : usernamePrefix
  return {
    issuer,
    clientIds: [clientId],
    usernameClaim,
    usernamePrefix: given === '-' ? '' : given,
    groupsClaim,
    groupsPrefix,
    requiredClaims: new Map(Object.entries(oidc.requiredClaims)),
    signingAlgorithms: oidc.signingAlgorithms,
  }
}

/** The signer of tokens outside of the server, if one is configured. Throws ConfigError. */
async function externalSigner(
  config: Config,
  { log, signal }: Pick<AuthenticationParts, 'log' | 'signal'>,
): Promise<ExternalSigner | undefined> {
  const { serviceAccountSigningEndpoint: path, serviceAccountMaxTokenExpirationMs: wantedMs } = config
  if (path === undefined) return undefined
  const { ExternalSigner } = await import('../../authn/external-signer.ts')
  const onError = (error: unknown) =>
    log.error({ error: failureText(error) }, 'keys of the external signer could not be fetched; those known before stay')
  const signer = await ExternalSigner.open({ path, signal, onError }).catch(error => {
    throw new ConfigError((error as Error).message)
  })
  const { mostSeconds } = signer
  if (mostSeconds < MIN_TOKEN_SECONDS)
    throw new ConfigError(
      `max token life supported by external-jwt-signer (${mostSeconds}s) is less than acceptable (min ${MIN_TOKEN_SECONDS}s)`,
    )
  if (wantedMs > mostSeconds * 1000)
    throw new ConfigError(
      `service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: ${durationOf(wantedMs)} > ${durationOf(mostSeconds * 1000)}`,
    )
  return signer
}
const MIN_TOKEN_SECONDS = 600
const durationOf = (ms: number): string => formatDuration(BigInt(ms) * 1_000_000n)
