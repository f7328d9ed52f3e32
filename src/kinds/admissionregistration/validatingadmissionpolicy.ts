/** ValidatingAdmissionPolicy accepts or refuses requests with CEL expressions; bindings put it into force. */
import { isQualifiedName } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { expressionsWork } from '../../schema/rule-work.ts'
import { atomic, int64, keyed, message, type Static, string } from '../../schema/types.ts'
import { Condition, validateConditions } from '../rules/meta.ts'
import { isBlank, validateExpression, validatePresence } from './expression-rules.ts'
import { MatchResources, matchConditions } from './match-shapes.ts'
import { expressionsFor, type PolicyExpressions, policyWork, validatePolicyExpressions, validatePolicyMatching } from './policy-rules.ts'
import { formatParamKind, ParamKind, Variable } from './policy-shapes.ts'
import { validateNotStatic, warnAboutStatic } from './static-names.ts'

const ExpressionWarning = message('ExpressionWarning', {
  fieldRef: [2, string.always(), 'The path of the expression, such as spec.validations[0].expression.'],
  warning: [3, string.always(), 'The finding, for people.'],
})

const TypeChecking = message('TypeChecking', {
  expressionWarnings: [1, atomic(ExpressionWarning), 'A warning for each expression in which something was found.'],
})
type TypeChecking = Static<typeof TypeChecking>

/** Every warning has a field reference and a text. */
function* validateTypeChecking({ expressionWarnings = [] }: TypeChecking, at: Ref<TypeChecking>): Iterable<FieldError> {
  for (const [i, { fieldRef, warning }] of expressionWarnings.entries()) {
    const here = at.expressionWarnings[i]!
    if (!warning) yield required(here.warning)
    if (isBlank(fieldRef)) {
      yield required(here.fieldRef)
      continue
    }
    const path = fieldRef.trim()
    const problem = pathProblem(path)
    if (problem !== undefined) yield invalid(withValue(here.fieldRef, path), `invalid JSONPath: ${problem}`)
  }
}

/** Fields after dots, and brackets around indexes, ranges, quoted names, or filters. */
function pathProblem(path: string): string | undefined {
  const rest = path.replace(/[\w.$@*\s+-]+|\[(?:[^[\]'"]|'[^']*'|"[^"]*")*\]|'[^']*'|"[^"]*"/g, '')
  if (rest === '') return undefined
  if (rest.startsWith('[')) return 'unterminated array'
  if (rest.startsWith("'") || rest.startsWith('"')) return 'unterminated quoted string'
  const [character = ''] = rest
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
  return `unrecognized character in action: U+${code} '${character}'`
}

const Validation = message('Validation', {
  expression: [1, string.always(), 'A CEL expression that must be true.'],
  message: [2, string, 'The message when it is not; one line.'],
  reason: [3, string.optional(), 'The reason of the answer: Forbidden, Invalid or RequestEntityTooLarge.'],
  messageExpression: [4, string, 'A CEL expression for the message, instead of a fixed one.'],
})
type Validation = Static<typeof Validation>

const AuditAnnotation = message('AuditAnnotation', {
  key: [1, string.always(), 'The key, after the name of the policy and a slash; each once.'],
  valueExpression: [2, string.always(), 'A CEL expression for the value; null leaves the annotation out.'],
})
type AuditAnnotation = Static<typeof AuditAnnotation>

const ValidatingAdmissionPolicySpec = message('ValidatingAdmissionPolicySpec', {
  paramKind: [1, ParamKind, 'The kind of the parameters, if there are any.'],
  matchConstraints: [2, MatchResources, 'The requests that are validated.'],
  validations: [3, atomic(Validation), 'The rules that must hold; these or annotations are needed.'],
  failurePolicy: [
    4,
    string.listed('Fail', 'Ignore').optional().default('Fail'),
    'The treatment of requests when the policy cannot be evaluated: Fail or Ignore.',
  ],
  auditAnnotations: [5, atomic(AuditAnnotation), 'Annotations of audit events, at most 20.'],
  matchConditions: [6, matchConditions, 'CEL expressions that must all be true, at most 64.'],
  variables: [7, keyed(Variable, 'name').mergedBy('name'), 'Values that expressions share; each may use those before it.'],
})

const ValidatingAdmissionPolicyStatus = message('ValidatingAdmissionPolicyStatus', {
  observedGeneration: [1, int64, 'The generation that was looked at.'],
  typeChecking: [2, TypeChecking, 'Findings about types in expressions; absent before they were checked.'],
  conditions: [3, keyed(Condition, 'type'), 'The last observed conditions.'],
})

export const ValidatingAdmissionPolicy = defineKind({
  group: 'admissionregistration.{group_domain}',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  scope: 'Cluster',
  names: { plural: 'validatingadmissionpolicies', categories: ['api-extensions'] },
  doc: 'Accepts or refuses requests.',
  unqualifiedFinalizers: true,
  spec: ValidatingAdmissionPolicySpec,
  status: ValidatingAdmissionPolicyStatus,
  generation: true,
  allowUnconditionalUpdate: false,

  ruleWork: ({ spec }) =>
    policyWork(spec) +
    expressionsWork((spec.validations ?? []).flatMap(({ expression, messageExpression }) => [expression, messageExpression])),
  *validate({ metadata, spec }, at, { old, ...ctx }) {
    const { validations = [], auditAnnotations = [] } = spec
    yield* validatePolicyMatching(spec, at.spec)
    const expressions = expressionsFor(spec)
    const stored = storedExpressions(old?.spec)
    yield* validatePolicyExpressions(spec, at.spec, { old: old?.spec, expressions, storedVariables: stored.validations })
    if (validations.length + auditAnnotations.length === 0)
      for (const part of [at.spec.validations, at.spec.auditAnnotations])
        yield required(part, 'validations or auditAnnotations must contain at least one item')
    for (const [i, validation] of validations.entries())
      yield* validateValidation(validation, at.spec.validations[i]!, { ...expressions, stored })
    yield* validateAuditAnnotations(auditAnnotations, at.spec.auditAnnotations, { ...expressions, stored, policy: metadata.name })
    if (old === undefined) yield* validateNotStatic(metadata.name, at.metadata.name, ctx)
  },
  warn: ({ metadata }, _old, ctx) => warnAboutStatic(metadata.name, ctx),

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status: { typeChecking, conditions } }, { status: at }) {
        if (typeChecking) yield* validateTypeChecking(typeChecking, at.typeChecking)
        yield* validateConditions(conditions, at.conditions)
      },
      *validateUpdate() {},
      warn: ({ metadata }, _old, ctx) => warnAboutStatic(metadata.name, ctx),
    },
  },

  columns: {
    Validations: [
      'integer',
      o => o.spec.validations?.length ?? 0,
      'Validations indicates the number of validation rules defined in this configuration',
    ],
    ParamKind: [
      'string',
      o => formatParamKind(o.spec.paramKind),
      'ParamKind specifies the kind of resources used to parameterize this policy',
    ],
    Age: age,
  },
})

/** An object of the kind ValidatingAdmissionPolicy. */
export type ValidatingAdmissionPolicy = ObjectOf<typeof ValidatingAdmissionPolicy>

const REASONS: readonly string[] = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const NOT_BLANK = 'must be non-empty if specified'

/** The expressions of a stored policy, by role. */
type Stored = Readonly<Record<'validations' | 'messages' | 'annotations', ReadonlySet<string>>>

const storedExpressions = (spec: Partial<Static<typeof ValidatingAdmissionPolicySpec>> = {}): Stored => ({
  validations: new Set((spec.validations ?? []).map(({ expression }) => expression)),
  messages: new Set((spec.validations ?? []).map(({ messageExpression }) => messageExpression ?? '')),
  annotations: new Set((spec.auditAnnotations ?? []).map(({ valueExpression }) => valueExpression)),
})

type Expressions = PolicyExpressions & { readonly stored: Stored }

function* validateValidation(validation: Validation, at: Ref<Validation>, options: Expressions): Iterable<FieldError> {
  const { expression, message: text = '', messageExpression = '', reason } = validation
  const { compiler, hasParams, stored } = options
  yield* validatePresence(expression, at.expression, 'expression is not specified')
  const variables = { hasParams, hasAuthorizer: true }
  yield* validateExpression(expression, at.expression, { use: 'condition', variables, compiler, stored: stored.validations })
  if (messageExpression !== '' && isBlank(messageExpression)) yield invalid(at.messageExpression, NOT_BLANK)
  const role = { use: 'message', variables: { hasParams }, compiler, stored: stored.messages } as const
  yield* validateExpression(messageExpression, at.messageExpression, role)
  if (text !== '' && isBlank(text)) yield invalid(at.message, NOT_BLANK)
  else if (/[\n\r]/.test(text.trim())) yield invalid(at.message, 'must not contain line breaks')
  if (reason !== undefined && !REASONS.includes(reason)) yield unsupported(at.reason, ...REASONS)
}

const MAX_ANNOTATIONS = 20
const MAX_VALUE_EXPRESSION_BYTES = 5 * 1024

function* validateAuditAnnotations(
  annotations: readonly AuditAnnotation[],
  at: Ref<AuditAnnotation[]>,
  { policy, ...expressions }: Expressions & { readonly policy: string | undefined },
): Iterable<FieldError> {
  if (annotations.length > MAX_ANNOTATIONS) {
    // kube-apiserver shows the annotations with the field names of its internal type.
    const shown = annotations.map(({ key, valueExpression }) => ({ Key: key, ValueExpression: valueExpression }))
    yield invalid(withValue(at, shown), `must not have more than ${MAX_ANNOTATIONS} auditAnnotations`)
  }
  const seen = new Set<string>()
  for (const [i, { key, valueExpression }] of annotations.entries()) {
    const here = at[i]!
    if (policy) yield* invalidEach(withValue(here.key, `${policy}/${key}`), isQualifiedName(`${policy}/${key}`))
    else yield invalid(here.key, 'requires metadata.name be non-empty')
    yield* validateValueExpression(valueExpression, here.valueExpression, expressions)
    if (seen.has(key)) yield duplicate(here.key)
    seen.add(key)
  }
}

/** Surrounding space does not count, but errors show it, and the whole string decides whether an expression is already stored. */
function* validateValueExpression(expression: string, at: Ref<string>, { compiler, hasParams, stored }: Expressions): Iterable<FieldError> {
  yield* validatePresence(expression, at, 'valueExpression is not specified')
  const text = expression.trim()
  if (Buffer.byteLength(text) > MAX_VALUE_EXPRESSION_BYTES)
    return yield required(at, `must not exceed ${MAX_VALUE_EXPRESSION_BYTES} bytes in length`)
  const known = stored.annotations.has(expression) ? [text] : []
  const variables = { hasParams, hasAuthorizer: true }
  yield* validateExpression(text, at, { use: 'audit annotation', variables, compiler, stored: new Set(known) })
}
