/** AuthenticationConfiguration: issuers of tokens, the mapping of their claims to users, and anonymous requests. */
import { compileAuthentication, readsClaim } from '../cel/kubernetes/authentication.ts'
import { MAX_CALL_COST } from '../cel/kubernetes/base-env.ts'
import { isProblem } from '../cel/kubernetes/expression.ts'
import type { Program } from '../cel/runtime/program.ts'
import { dynShape } from '../cel/runtime/shapes.ts'
import { CelFault, CelList, type CelValue, elementsOf } from '../cel/runtime/values.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { isDomainPrefixedPath } from '../lib/names.ts'
import { duplicate, type FieldError, internal, invalid, pathOf, type Ref, refTo, required, tooMany, withValue } from '../schema/refs.ts'
import { atomic, bool, message, type Static, string } from '../schema/types.ts'
import type { User } from '../schema/user.ts'
import { groupsOf, nameOf, type OidcSettings, TokenError, userOf } from './oidc.ts'

const PrefixedClaim = message('PrefixedClaimOrExpression', { claim: [1, string], prefix: [2, string.optional()], expression: [3, string] })
const Jwt = message('JWTAuthenticator', {
  issuer: [
    1,
    message('Issuer', {
      url: [1, string],
      discoveryURL: [2, string],
      certificateAuthority: [3, string],
      audiences: [4, atomic(string)],
      audienceMatchPolicy: [5, string],
      egressSelectorType: [6, string],
    }),
  ],
  claimValidationRules: [
    2,
    atomic(
      message('ClaimValidationRule', { claim: [1, string], requiredValue: [2, string], expression: [3, string], message: [4, string] }),
    ),
  ],
  claimMappings: [
    3,
    message('ClaimMappings', {
      username: [1, PrefixedClaim],
      groups: [2, PrefixedClaim],
      uid: [3, message('ClaimOrExpression', { claim: [1, string], expression: [2, string] })],
      extra: [4, atomic(message('ExtraMapping', { key: [1, string], valueExpression: [2, string] }))],
    }),
  ],
  userValidationRules: [4, atomic(message('UserValidationRule', { expression: [1, string], message: [2, string] }))],
})
const Configuration = message('AuthenticationConfiguration', {
  jwt: [1, atomic(Jwt)],
  anonymous: [
    2,
    message('AnonymousAuthConfig', {
      enabled: [1, bool],
      conditions: [2, atomic(message('AnonymousAuthCondition', { path: [1, string] }))],
    }).optional(),
  ],
})
type Configuration = Static<typeof Configuration>
type Jwt = Static<typeof Jwt>

export const AUTHENTICATION_CONFIGURATION = {
  accepts: {
    'apiserver.config.k8s.io/v1': 'AuthenticationConfiguration',
    'apiserver.config.k8s.io/v1beta1': 'AuthenticationConfiguration',
    'apiserver.config.k8s.io/v1alpha1': 'AuthenticationConfiguration',
  },
  type: Configuration,
} as const

export type ConfiguredIssuer = {
  readonly settings: OidcSettings
  readonly ca: string | undefined
  /** The network that the issuer is in, which the egress selector leads to; empty for none. */
  readonly egress: '' | 'controlplane' | 'cluster'
}
export type ConfiguredAuthentication = {
  readonly issuers: readonly ConfiguredIssuer[]
  /** Whether anonymous requests are allowed, and for which paths; undefined unless configured. */
  readonly anonymous: { readonly enabled: boolean; readonly paths: ReadonlySet<string> | undefined } | undefined
}

export type AuthenticationRules = {
  /** Issuers of the server's own tokens. */
  readonly ownIssuers: readonly string[]
  /** Why certificates cannot be used; undefined when they can. */
  readonly certificateProblem: (pem: string) => string | undefined
  readonly signingAlgorithms: readonly string[]
  /** Whether issuers may name a network of the egress selector. */
  readonly takesEgress: boolean
}

/** The authenticators of a configuration, or its errors. */
export function authenticationOf(
  configuration: Configuration,
  rules: AuthenticationRules,
): ConfiguredAuthentication | { readonly errors: readonly string[] } {
  const errors = [...validate(configuration, rules)].map(({ field, message }) => `${field}: ${message}`)
  if (errors.length > 0) return { errors }
  const { jwt = [], anonymous } = configuration
  const paths = anonymous?.conditions?.map(({ path = '' }) => path) ?? []
  return {
    issuers: jwt.map(each => issuerOf(each, rules.signingAlgorithms)),
    anonymous: anonymous && { enabled: anonymous.enabled ?? false, paths: paths.length > 0 ? new Set(paths) : undefined },
  }
}

function issuerOf(
  { issuer = {}, claimMappings = {}, claimValidationRules = [], userValidationRules = [] }: Jwt,
  signingAlgorithms: readonly string[],
): ConfiguredIssuer {
  const { username = {}, groups = {}, uid = {}, extra = [] } = claimMappings
  const rulesOf = (rules: readonly { expression?: string; message?: string }[], variable: 'claims' | 'user') =>
    rules.flatMap(({ expression = '', message = '' }) =>
      expression === '' ? [] : [{ expression, message, program: program(expression, variable) }],
    )
  const mapping: Mapping = {
    username: username.expression ? program(username.expression, 'claims') : undefined,
    groups: groups.expression ? program(groups.expression, 'claims') : undefined,
    uid: uid.expression ? program(uid.expression, 'claims') : undefined,
    uidClaim: uid.claim ?? '',
    extra: extra.map(({ key = '', valueExpression = '' }) => ({
      key,
      expression: valueExpression,
      program: program(valueExpression, 'claims'),
    })),
    claimRules: rulesOf(claimValidationRules, 'claims'),
    userRules: rulesOf(userValidationRules, 'user'),
  }
  const settings: OidcSettings = {
    issuer: issuer.url!,
    ...(issuer.discoveryURL && { discoveryUrl: issuer.discoveryURL }),
    clientIds: issuer.audiences!,
    usernameClaim: username.claim ?? '',
    usernamePrefix: username.prefix ?? '',
    groupsClaim: groups.claim ?? '',
    groupsPrefix: groups.prefix ?? '',
    requiredClaims: new Map(
      claimValidationRules.flatMap(({ claim, requiredValue = '' }) => (claim ? [[claim, requiredValue] as const] : [])),
    ),
    signingAlgorithms,
    mapUser: claims => mappedUser(claims, settings, mapping),
  }
  return { settings, ca: issuer.certificateAuthority, egress: (issuer.egressSelectorType ?? '') as ConfiguredIssuer['egress'] }
}

function program(expression: string, variable: 'claims' | 'user'): Program {
  const compiled = compileAuthentication(expression, { variable, isRule: false })
  if (isProblem(compiled)) throw new Error(compiled.detail)
  return compiled
}

type CompiledRule = { readonly expression: string; readonly message: string; readonly program: Program }
type Mapping = {
  readonly username: Program | undefined
  readonly groups: Program | undefined
  readonly uid: Program | undefined
  readonly uidClaim: string
  readonly extra: readonly { readonly key: string; readonly expression: string; readonly program: Program }[]
  readonly claimRules: readonly CompiledRule[]
  readonly userRules: readonly CompiledRule[]
}

/** The user of these claims. Throws TokenError. */
function mappedUser(claims: JsonObject, settings: OidcSettings, mapping: Mapping): User {
  const bindings = { claims: dynShape.read(claims as Json) }
  const evaluate = (program: Program, what: string, given: { [name: string]: CelValue } = bindings): CelValue => {
    const { value } = program.evaluate(given, { maxCost: MAX_CALL_COST })
    if (value instanceof CelFault) throw new TokenError(`error evaluating ${what}: ${value.message}`)
    return value
  }
  const textOf = (program: Program, what: string) => {
    const value = evaluate(program, `${what} claim expression`)
    if (typeof value !== 'string')
      throw new TokenError(`error evaluating ${what} claim expression: ${what} claim expression must return a string`)
    return value
  }
  const check = (rules: readonly CompiledRule[], what: string, given: { [name: string]: CelValue }) => {
    for (const { expression, message, program } of rules) {
      const value = evaluate(program, what, given)
      if (value !== true) throw new TokenError(`error evaluating ${what}: validation expression '${expression}' failed: ${message}`)
    }
  }
  const name = mapping.username ? textOf(mapping.username, 'username') : nameOf(claims, settings)
  if (name === '') throw new TokenError('empty username via CEL expression is not allowed')
  const groups = mapping.groups
    ? textsOf(evaluate(mapping.groups, 'group claim expression'), 'group claim expression')
    : groupsOf(claims, settings)
  const uid = mapping.uid ? textOf(mapping.uid, 'uid') : claimText(claims, mapping.uidClaim)
  const base = userOf(claims, settings, { name, groups })
  const extra: Record<string, readonly string[]> = { ...base.extra }
  for (const { key, expression, program } of mapping.extra) {
    const values = textsOf(evaluate(program, 'extra claim expression'), `extra claim expression: ${expression}`)
    if (values.length > 0) extra[key] = values
  }
  const user: User = { ...base, ...(uid !== '' && { uid }), ...(Object.keys(extra).length > 0 && { extra }) }
  check(mapping.claimRules, 'claim validation expression', bindings)
  const seen = { username: name, uid, groups, extra: extra as Record<string, string[]> }
  check(mapping.userRules, 'user info validation rule', { user: dynShape.read(seen) })
  return user
}

function claimText(claims: JsonObject, claim: string): string {
  if (claim === '') return ''
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  if (typeof value !== 'string')
    throw new TokenError(`parse uid claim "${claim}": ${value === undefined ? 'claim not present' : 'it is no string'}`)
  return value
}

function textsOf(value: CelValue, what: string): string[] {
  if (value === null) return []
  const all = value instanceof CelList ? [...elementsOf(value)] : [value]
  return all.flatMap(each => {
    if (typeof each !== 'string') throw new TokenError(`error evaluating ${what}: expression must return a string or a list of strings`)
    return each === '' ? [] : [each]
  })
}

const MAX_ISSUERS = 64

function* validate({ jwt = [], anonymous }: Configuration, rules: AuthenticationRules): Iterable<FieldError> {
  const at = refTo({ jwt, anonymous } as Configuration)
  if (jwt.length > MAX_ISSUERS) {
    yield tooMany(at.jwt, jwt.length, MAX_ISSUERS)
    return
  }
  const [urls, discoveryUrls] = [new Set<string>(), new Set<string>()]
  for (const [i, each] of jwt.entries()) {
    const here = at.jwt[i]!
    yield* validateJwt(each, here, rules)
    const { url = '', discoveryURL = '' } = each.issuer ?? {}
    if (urls.has(url)) yield duplicate(withValue(here.issuer.url, url))
    urls.add(url)
    if (discoveryUrls.has(discoveryURL)) yield duplicate(here.issuer.discoveryURL)
    if (discoveryURL !== '') discoveryUrls.add(discoveryURL)
  }
  if (anonymous && !anonymous.enabled && anonymous.conditions?.length)
    yield invalid(at.anonymous.conditions, 'enabled should be set to true when conditions are defined')
}

function* validateJwt(jwt: Jwt, at: Ref<Jwt>, rules: AuthenticationRules): Iterable<FieldError> {
  const { issuer = {}, claimValidationRules = [], claimMappings = {}, userValidationRules = [] } = jwt
  const { url = '', discoveryURL = '', certificateAuthority = '', audiences = [], audienceMatchPolicy = '' } = issuer
  if (url === '') yield required(at.issuer.url)
  else {
    if (rules.ownIssuers.includes(url))
      yield invalid(at.issuer.url, `URL must not overlap with disallowed issuers: [${[...rules.ownIssuers].sort().join(' ')}]`)
    yield* validateUrl(url, at.issuer.url)
  }
  if (discoveryURL !== '') {
    if (url.replace(/\/+$/, '') === discoveryURL.replace(/\/+$/, ''))
      yield invalid(at.issuer.discoveryURL, 'discoveryURL must be different from URL')
    yield* validateUrl(discoveryURL, at.issuer.discoveryURL)
  }
  if (audiences.length === 0) yield required(at.issuer.audiences, `at least one ${pathOf(at.issuer.audiences)} is required`)
  for (const [i, audience] of audiences.entries()) {
    if (audience === '') yield required(at.issuer.audiences[i]!)
    if (audiences.indexOf(audience) !== i) yield duplicate(at.issuer.audiences[i]!)
  }
  const policyAt = withValue(at.issuer.audienceMatchPolicy, audienceMatchPolicy)
  if (audiences.length > 1 && audienceMatchPolicy !== 'MatchAny')
    yield invalid(policyAt, 'audienceMatchPolicy must be MatchAny for multiple audiences')
  if (audiences.length === 1 && !['', 'MatchAny'].includes(audienceMatchPolicy))
    yield invalid(policyAt, 'audienceMatchPolicy must be empty or MatchAny for single audience')
  const problem = certificateAuthority === '' ? undefined : rules.certificateProblem(certificateAuthority)
  if (problem !== undefined) yield invalid(withValue(at.issuer.certificateAuthority, '<omitted>'), problem)
  if (issuer.egressSelectorType && !rules.takesEgress)
    yield invalid(
      at.issuer.egressSelectorType,
      'egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled',
    )
  if (!['', 'controlplane', 'cluster'].includes(issuer.egressSelectorType ?? ''))
    yield invalid(at.issuer.egressSelectorType, 'egress selector must be either controlplane or cluster')
  yield* validateClaimRules(claimValidationRules, at.claimValidationRules)
  yield* validateMappings(claimMappings, at.claimMappings, claimValidationRules)
  const expressions = new Set<string>()
  for (const [i, { expression = '' }] of userValidationRules.entries()) {
    const here = at.userValidationRules[i]!.expression
    if (expression === '') yield required(here)
    else if (expressions.has(expression)) yield duplicate(here)
    else yield* validateExpression(expression, here, { variable: 'user', isRule: true })
    expressions.add(expression)
  }
}

type ClaimRules = NonNullable<Jwt['claimValidationRules']>

function* validateClaimRules(rules: ClaimRules, at: Ref<ClaimRules>): Iterable<FieldError> {
  const [claims, expressions] = [new Set<string>(), new Set<string>()]
  for (const [i, { claim = '', expression = '', message, requiredValue }] of rules.entries()) {
    const here = at[i]!
    if (claim !== '' && expression !== '') yield invalid(withValue(here, claim), "claim and expression can't both be set")
    else if (claim === '' && expression === '') yield required(here, 'claim or expression is required')
    else if (claim !== '') {
      if (message) yield invalid(here.message, 'may not be specified when claim is set')
      if (claims.has(claim)) yield duplicate(here.claim)
      claims.add(claim)
    } else {
      if (requiredValue) yield invalid(here.requiredValue, 'may not be specified when expression is set')
      if (expressions.has(expression)) yield duplicate(here.expression)
      else yield* validateExpression(expression, here.expression, { variable: 'claims', isRule: true })
      expressions.add(expression)
    }
  }
}

type Mappings = NonNullable<Jwt['claimMappings']>

function* validateMappings(
  { username = {}, groups = {}, uid = {}, extra = [] }: Mappings,
  at: Ref<Mappings>,
  rules: ClaimRules,
): Iterable<FieldError> {
  if (!username.claim && !username.expression) yield required(at.username, 'claim or expression is required')
  for (const [mapping, here] of [
    [username, at.username],
    [groups, at.groups],
  ] as const) {
    if (mapping.claim && mapping.expression) yield invalid(withValue(here, ''), "claim and expression can't both be set")
    else if (mapping.expression) {
      if (mapping.prefix !== undefined) yield invalid(here.prefix, 'may not be specified when expression is set')
      yield* validateExpression(mapping.expression, here.expression, { variable: 'claims', isRule: false })
    } else if (mapping.claim && mapping.prefix === undefined)
      yield required(here.prefix, 'prefix is required when claim is set. It can be set to an empty string to disable prefixing')
  }
  if (uid.claim && uid.expression) yield invalid(withValue(at.uid, ''), "claim and expression can't both be set")
  else if (uid.expression) yield* validateExpression(uid.expression, at.uid.expression, { variable: 'claims', isRule: false })
  const keys = new Set<string>()
  for (const [i, { key = '', valueExpression = '' }] of extra.entries()) {
    const here = at.extra[i]!
    for (const fault of isDomainPrefixedPath(key))
      yield fault.type === 'required' ? required(here.key) : invalid(withValue(here.key, fault.value), fault.message)
    if (key !== key.toLowerCase()) yield invalid(here.key, 'must be lowercase')
    if (/^([^/]+\.)?(kubernetes|k8s)\.io\//.test(key))
      yield invalid(here.key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use')
    if (keys.has(key)) {
      yield duplicate(withValue(here.key, key))
      continue
    }
    keys.add(key)
    if (valueExpression === '') yield required(here.valueExpression)
    else yield* validateExpression(valueExpression, here.valueExpression, { variable: 'claims', isRule: false })
  }
  const all = [username, ...rules, ...extra.map(({ valueExpression }) => ({ expression: valueExpression }))]
  if (reads(username.expression, 'email') && !all.some(({ expression }) => reads(expression, 'email_verified')))
    yield invalid(
      at.username.expression,
      'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    )
}

/** Whether an expression compiles and reads a claim. */
const reads = (expression: string | undefined, claim: string): boolean =>
  !!expression && !isProblem(compileAuthentication(expression, { variable: 'claims', isRule: false })) && readsClaim(expression, claim)

function* validateExpression(expression: string, at: Ref<any>, use: Parameters<typeof compileAuthentication>[1]): Iterable<FieldError> {
  const compiled = compileAuthentication(expression, use)
  if (isProblem(compiled)) yield compiled.reason === 'invalid' ? invalid(at, compiled.detail) : internal(at, compiled.detail)
}

function* validateUrl(text: string, at: Ref<string>): Iterable<FieldError> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:') yield invalid(at, 'URL scheme must be https')
  if (url?.username || url?.password) yield invalid(at, 'URL must not contain a username or password')
  if (url?.search) yield invalid(at, 'URL must not contain a query')
  if (url?.hash) yield invalid(at, 'URL must not contain a fragment')
}
