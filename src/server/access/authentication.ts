/** Authentication: every configured authenticator, and the tokens that this server signs itself. */
import { createPrivateKey } from 'node:crypto'
import type { Reader } from '../../admission/reader.ts'
import type { FindCore } from '../../authn/account-claims.ts'
import { AccountTokens } from '../../authn/account-tokens.ts'
import { Authenticators, authenticatedUser } from '../../authn/authenticator.ts'
import { CertificateAuthenticator } from '../../authn/client-certificate.ts'
import type { ExternalSigner } from '../../authn/external-signer.ts'
import { signToken } from '../../authn/json-web-token.ts'
import { OidcAuthenticator, type OidcSettings } from '../../authn/oidc.ts'
import { RequestHeaderAuthenticator, type RequestHeaderSettings } from '../../authn/request-header.ts'
import { BearerAuthenticator, TokenChain } from '../../authn/token.ts'
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
  const { files, sharedKeys, reader, egress, gate, log, onLegacyUse, metrics, now, signal } = parts
  const issuers = config.serviceAccountIssuers.length === 0 ? [DEFAULT_ISSUER] : config.serviceAccountIssuers
  const audiences = config.apiAudiences.length === 0 ? [issuers[0]!] : config.apiAudiences
  const external = await externalSigner(config, { log, signal })
  const made = external || files.signingKey ? undefined : loadTokenKey(config.store === 'memory' ? undefined : config.dataDir, sharedKeys)
  const signing = external ? undefined : (files.signingKey ?? signingKey(createPrivateKey(made!.key)))
  const keys = external?.published ?? [signing!, ...files.tokenKeys.filter(({ id }) => id !== signing!.id)]
  const find: FindCore = (plural, namespace, name) => reader.get({ group: '', version: 'v1', plural }, name, namespace)
  const accounts = new AccountTokens({
    issuers,
    sign: claims => (external ? external.sign(claims) : signToken(claims, signing!)),
    keys: external ?? { current: keys },
    audiences,
    find,
    now,
    newId: newUuid,
    onLegacyUse,
  })
  const settings = oidcSettings(config)
  const configured =
    config.authenticationConfig === undefined
      ? undefined
      : (await import('./configured-tokens.ts')).configuredIssuers({
          config,
          audiences,
          ownIssuers: issuers,
          egress,
          gate,
          metrics,
          log,
          signal,
        })
  const tokens = new TokenChain([
    ...(files.tokens ? [new TokenFile(files.tokens, audiences)] : []),
    accounts,
    ...(config.enableBootstrapTokenAuth
      ? [
          new (await import('../../authn/bootstrap-token.ts')).BootstrapTokens({
            find: (namespace, name) => reader.get({ group: '', version: 'v1', plural: 'secrets' }, name, namespace),
            audiences,
            now,
          }),
        ]
      : []),
    ...(settings
      ? [
          new OidcAuthenticator({
            settings,
            audiences,
            fetch: httpsFetch(files.oidcCa),
            ...metrics.keySets.observerOf(settings.issuer, gate),
            now,
          }),
        ]
      : []),
    ...(configured ? [configured.tokens] : []),
    ...(config.authenticationTokenWebhookConfigFile === undefined
      ? []
      : [(await import('./configured-tokens.ts')).tokenWebhook({ config, audiences, dial: egress.controlplane, log, signal })]),
  ])
  const chain = [
    ...(files.proxyCa === undefined ? [] : [new RequestHeaderAuthenticator(requestHeaderSettings(config), now)]),
    new CertificateAuthenticator({
      now,
      find,
      hasUids: gate('AllowParsingUserUIDFromCertAuth'),
      seen: remainingMs => metrics.certificateSeen(remainingMs / 1000),
    }),
    new BearerAuthenticator(tokens, audiences),
  ]
  return {
    authenticator: new Authenticators(chain, {
      anonymous: (configured?.anonymous?.enabled ?? true) && isAnonymousAllowed(config, log),
      anonymousPaths: configured?.anonymous?.paths,
    }),
    accounts,
    issuer: issuers[0]!,
    keys,
    saved: made?.saved ?? Promise.resolve(),
    access: {
      audiences,
      async authenticate(token, requestedAudiences, request): Promise<TokenFinding> {
        const found = await tokens.authenticate(token, requestedAudiences.length === 0 ? audiences : requestedAudiences, request)
        return found.outcome === 'user' ? { ...found, user: authenticatedUser(found.user) } : found
      },
      tokenLifetime: {
        mostSeconds:
          config.serviceAccountMaxTokenExpirationMs === 0
            ? external?.mostSeconds
            : Math.floor(config.serviceAccountMaxTokenExpirationMs / 1000),
        isExtended: config.serviceAccountExtendTokenExpiration,
      },
      issueToken: claims => accounts.issue(claims),
      find: (resource, namespace, name) => reader.get(resource, name, namespace),
    },
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
