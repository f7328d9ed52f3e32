/** CEL expressions of admission: match conditions of webhooks, and policies with their variables. */
import { type Env, extendEnv } from '../checker/env.ts'
import type { Library } from '../checker/library.ts'
import {
  boolType,
  type CelType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  objectType,
  sameType,
  stringType,
  timestampType,
  typeString,
} from '../checker/types.ts'
import { authorizerType, resourceCheckType } from '../libraries/authorizer.ts'
import type { Program } from '../runtime/program.ts'
import { baseEnv, type ExpressionAge } from './base-env.ts'
import { checkExpression, type ExpressionProblem, invalidExpression, isProblem, programOf } from './expression.ts'
import { applyObjectType, jsonPatchType, patchTypesLibrary } from './patch-types.ts'
import { sized, sizedList, sizedMap, sizedObject, sizedTypesLibrary } from './sized-types.ts'

/** The variables of some expressions, beside `object`, `oldObject`, `request` and `namespaceObject`. */
export interface AdmissionVariables {
  readonly hasParams?: boolean
  readonly hasAuthorizer?: boolean
  /** Enables `Object{…}` and `JSONPatch{…}`. */
  readonly hasPatchTypes?: boolean
}

/** The use of an expression, which determines the type of its value. */
export type AdmissionUse = 'condition' | 'message' | 'audit annotation' | 'variable' | 'apply configuration' | 'JSON patch'

const returnTypes: Readonly<Record<AdmissionUse, readonly CelType[] | undefined>> = {
  condition: [boolType],
  message: [stringType],
  'audit annotation': [stringType, nullType],
  variable: undefined,
  'apply configuration': [applyObjectType],
  'JSON patch': [listType(jsonPatchType)],
}

export interface AdmissionExpression {
  readonly text: string
  readonly use: AdmissionUse
  readonly variables?: AdmissionVariables
  readonly age?: ExpressionAge
}

/** The types of objects and parameters, where they are known: only for type checking, as expressions evaluate whatever is sent. */
export interface KnownTypes {
  readonly object: CelType
  readonly params?: CelType | undefined
  readonly library: Library
}

const variablesType = objectType('kubernetes.variables')

/** Compiles the expressions of one policy or webhook: declared variables can be used by later expressions. */
export class AdmissionCompiler {
  readonly #composition: Library | undefined
  readonly #fields = new Map<string, CelType>()
  readonly #envs = new Map<string, Env>()
  readonly #types: KnownTypes | undefined

  /** `composes` tells that there are variables; otherwise the name `variables` is undeclared. */
  constructor({ composes = false, types }: { composes?: boolean; types?: KnownTypes } = {}) {
    this.#types = types
    if (!composes) return
    this.#composition = {
      variables: [{ name: 'variables', type: variablesType }],
      types: {
        findType: name => (name === variablesType.name ? variablesType : undefined),
        findField: (type, field) => (type === variablesType.name ? this.#fields.get(field) : undefined),
      },
    }
  }

  /** A program, or the error. */
  compile({ text, use, variables = {}, age = 'new' }: AdmissionExpression): Program | ExpressionProblem {
    const env = this.#env(variables, age)
    const ast = checkExpression(env, text)
    if (isProblem(ast)) return ast
    const wanted = returnTypes[use]
    if (wanted && !wanted.some(type => sameType(type, ast.type))) return invalidExpression(mismatch(wanted, ast.type))
    return programOf(env, ast)
  }

  /** Compiles and declares a variable; one that fails is declared, too, or else every use of it would fail as well. */
  declare(name: string, expression: Omit<AdmissionExpression, 'use'>): Program | ExpressionProblem {
    const compiled = this.compile({ ...expression, use: 'variable' })
    this.#fields.set(name, isProblem(compiled) ? dynType : fieldType(compiled.type))
    return compiled
  }

  /** The type errors of an expression, whatever its use. */
  problemOf({ text, variables = {}, age = 'new' }: Omit<AdmissionExpression, 'use'>): ExpressionProblem | undefined {
    const checked = checkExpression(this.#env(variables, age), text)
    return isProblem(checked) ? checked : undefined
  }

  #env(variables: AdmissionVariables, age: ExpressionAge): Env {
    if (!this.#composition && !this.#types) return admissionEnv(variables, age)
    const key = keyOf(variables, age)
    const base = () => (this.#types ? makeEnv(variables, age, this.#types) : admissionEnv(variables, age))
    const known = this.#envs.get(key) ?? extendEnv(base(), this.#composition ? [this.#composition] : [])
    this.#envs.set(key, known)
    return known
  }
}

function mismatch(wanted: readonly CelType[], found: CelType): string {
  const [only] = wanted
  const expected = wanted.length === 1 ? typeString(only!) : `one of [${wanted.map(typeString).join(' ')}]`
  return `must evaluate to ${expected} but got ${typeString(found)}`
}

const plainKinds: ReadonlySet<string> = new Set([
  'any',
  'bool',
  'bytes',
  'double',
  'duration',
  'int',
  'null',
  'string',
  'timestamp',
  'uint',
])

/** The type of a variable in other expressions: scalars, lists and maps keep theirs, all other types become dyn. */
function fieldType(type: CelType): CelType {
  if (type.kind === 'list') return listType(fieldType(type.params[0]!))
  if (type.kind === 'map') return mapType(fieldType(type.params[0]!), fieldType(type.params[1]!))
  return plainKinds.has(type.kind) && !type.nullable ? type : dynType
}

const shared = new Map<string, Env>()

const keyOf = ({ hasParams = false, hasAuthorizer = false, hasPatchTypes = false }: AdmissionVariables, age: ExpressionAge): string =>
  [age, hasParams, hasAuthorizer, hasPatchTypes].join()

/** The environment of admission expressions; each is built at first use. */
function admissionEnv(variables: AdmissionVariables, age: ExpressionAge): Env {
  const key = keyOf(variables, age)
  const known = shared.get(key) ?? makeEnv(variables, age)
  shared.set(key, known)
  return known
}

function makeEnv({ hasParams, hasAuthorizer, hasPatchTypes }: AdmissionVariables, age: ExpressionAge, types?: KnownTypes): Env {
  const libraries: Library[] = [
    ...(types ? [types.library] : []),
    {
      variables: [
        { name: 'object', type: types?.object ?? dynType },
        { name: 'oldObject', type: types?.object ?? dynType },
        { name: 'namespaceObject', type: namespaceObjectType.type },
        { name: 'request', type: admissionRequestType.type },
        ...(hasParams ? [{ name: 'params', type: types?.params ?? dynType }] : []),
        ...(hasAuthorizer ? [{ name: 'authorizer', type: authorizerType }] : []),
        // Kubernetes does not declare it for type checking.
        ...(hasAuthorizer && !types ? [{ name: 'authorizer.requestResource', type: resourceCheckType }] : []),
      ],
    },
    sizedTypesLibrary(namespaceObjectType, admissionRequestType),
  ]
  return extendEnv(baseEnv(age), hasPatchTypes ? [patchTypesLibrary(), ...libraries] : libraries)
}

// The types of the variables of admission expressions.

const text = sized(stringType)
const texts = sizedList(text)
const labels = sizedMap(text, text)

const groupVersionKind = sizedObject('kubernetes.GroupVersionKind', { group: text, version: text, kind: text })
const groupVersionResource = sizedObject('kubernetes.GroupVersionResource', { group: text, version: text, resource: text })

/** The variable `request`. */
const admissionRequestType = sizedObject('kubernetes.AdmissionRequest', {
  kind: groupVersionKind,
  resource: groupVersionResource,
  subResource: text,
  requestKind: groupVersionKind,
  requestResource: groupVersionResource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: sizedObject('kubernetes.UserInfo', { username: text, uid: text, groups: texts, extra: sizedMap(text, texts) }),
  dryRun: sized(boolType),
  options: sized(dynType),
})

/** The variable `namespaceObject`: a namespace without managed fields and the like. */
const namespaceObjectType = sizedObject('kubernetes.Namespace', {
  metadata: sizedObject('kubernetes.NamespaceMetadata', {
    name: text,
    generateName: text,
    namespace: text,
    labels,
    annotations: labels,
    UID: text,
    creationTimestamp: sized(timestampType),
    deletionGracePeriodSeconds: sized(intType),
    deletionTimestamp: sized(timestampType),
    generation: sized(intType),
    resourceVersion: text,
    finalizers: texts,
  }),
  spec: sizedObject('kubernetes.NamespaceSpec', { finalizers: texts }),
  status: sizedObject('kubernetes.NamespaceStatus', {
    conditions: sizedList(
      sizedObject('kubernetes.NamespaceCondition', {
        status: text,
        type: text,
        lastTransitionTime: sized(timestampType),
        message: text,
        reason: text,
      }),
    ),
    phase: text,
  }),
})
