/** Authentication: every configured authenticator, and the tokens that this server signs itself. */
import { createPrivateKey, randomUUID } from 'node:crypto'
import type { Reader } from '../../admission/reader.ts'
import type { FindCore } from '../../authn/account-claims.ts'
import { AccountTokens } from '../../authn/account-tokens.ts'
import { Authenticators, authenticatedUser } from '../../authn/authenticator.ts'
import { CertificateAuthenticator } from '../../authn/client-certificate.ts'
import { OidcAuthenticator, type OidcSettings } from '../../authn/oidc.ts'
import { RequestHeaderAuthenticator, type RequestHeaderSettings } from '../../authn/request-header.ts'
import { BearerAuthenticator, TokenChain } from '../../authn/token.ts'
import { TokenFile } from '../../authn/token-file.ts'
import { signingKey, type VerificationKey } from '../../authn/verification-keys.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Access, TokenFinding } from '../../schema/access.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { type Config, DEFAULT_ISSUER } from '../config.ts'
import { loadTokenKey } from '../credentials/pki.ts'
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
  /** Ends connections to webhooks. */
  readonly signal: AbortSignal
}

/** Creates the configured authenticators. */
export async function openAuthentication(config: Config, parts: AuthenticationParts): Promise<Authentication> {
  const { files, sharedKeys, reader, log, onLegacyUse, metrics, now, signal } = parts
  const issuers = config.serviceAccountIssuers.length === 0 ? [DEFAULT_ISSUER] : config.serviceAccountIssuers
  const audiences = config.apiAudiences.length === 0 ? [issuers[0]!] : config.apiAudiences
  const made = files.signingKey === undefined ? loadTokenKey(config.store === 'memory' ? undefined : config.dataDir, sharedKeys) : undefined
  const signing = files.signingKey ?? signingKey(createPrivateKey(made!.key))
  const keys = [signing, ...files.tokenKeys.filter(({ id }) => id !== signing.id)]
  const find: FindCore = (plural, namespace, name) => reader.get({ group: '', version: 'v1', plural }, name, namespace)
  const accounts = new AccountTokens({
    issuers,
    signingKey: signing,
    keys,
    audiences,
    find,
    now,
    newId: randomUUID,
    onLegacyUse,
  })
  const settings = oidcSettings(config)
  const configured =
    config.authenticationConfig === undefined
      ? undefined
      : (await import('./configured-tokens.ts')).configuredIssuers({ config, audiences, ownIssuers: issuers, metrics, log, signal })
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
    ...(settings ? [new OidcAuthenticator({ settings, audiences, fetch: httpsFetch(files.oidcCa), now })] : []),
    ...(configured ? [configured.tokens] : []),
    ...(config.authenticationTokenWebhookConfigFile === undefined
      ? []
      : [(await import('./configured-tokens.ts')).tokenWebhook({ config, audiences, log, signal })]),
  ])
  const chain = [
    ...(files.proxyCa === undefined ? [] : [new RequestHeaderAuthenticator(requestHeaderSettings(config), now)]),
    new CertificateAuthenticator({ now, find, seen: remainingMs => metrics.certificateSeen(remainingMs / 1000) }),
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
          config.serviceAccountMaxTokenExpirationMs === 0 ? undefined : Math.floor(config.serviceAccountMaxTokenExpirationMs / 1000),
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
