/** The environment that all CEL expressions of Kubernetes share, without variables. */

import { createEnv, type Env } from '../checker/env.ts'
import type { Library } from '../checker/library.ts'
import { mapInsertDeclarations, optionalFunctionDeclarations, optionalTypeVariables } from '../checker/optional-declarations.ts'
import { standardFunctionDeclarations, standardTypeVariables } from '../checker/standard-declarations.ts'
import { standardTypes } from '../checker/standard-types.ts'
import { authorizerLibrary, selectorsLibrary } from '../libraries/authorizer.ts'
import { formatLibrary } from '../libraries/formats.ts'
import { listExtensionLibrary } from '../libraries/list-extension.ts'
import { includesLibrary, listFunctionsLibrary } from '../libraries/list-functions.ts'
import { cidrLibrary, ipLibrary } from '../libraries/network.ts'
import { quantityLibrary } from '../libraries/quantities.ts'
import { regexLibrary } from '../libraries/regex.ts'
import { semverLibrary } from '../libraries/semvers.ts'
import { setsLibrary } from '../libraries/sets.ts'
import { stringsLibrary } from '../libraries/strings.ts'
import { urlsLibrary } from '../libraries/urls.ts'
import { optionalMacros, standardMacros, twoVariableMacros } from '../syntax/macros.ts'

/**
 * New expressions may only use functions that the previous release knows too, so that a rollback is possible; stored expressions may use
 * all.
 */
export type ExpressionAge = 'new' | 'stored'

const standardLibrary = (): Library => ({
  functions: standardFunctionDeclarations(),
  variables: standardTypeVariables(),
  macros: standardMacros(),
  types: standardTypes,
})

const optionalLibrary = (): Library => ({
  functions: optionalFunctionDeclarations(),
  variables: optionalTypeVariables(),
  macros: optionalMacros(),
  optionalSyntax: true,
})

const twoVariableLibrary = (): Library => ({ functions: mapInsertDeclarations(), macros: twoVariableMacros() })

/** The libraries that CEL itself defines, optionals and comprehensions over two variables included. */
export const languageLibraries = (): Library[] => [standardLibrary(), optionalLibrary(), twoVariableLibrary()]

const libraries: readonly (() => Library)[] = [
  standardLibrary,
  urlsLibrary,
  regexLibrary,
  listFunctionsLibrary,
  authorizerLibrary,
  optionalLibrary,
  quantityLibrary,
  stringsLibrary,
  setsLibrary,
  ipLibrary,
  cidrLibrary,
  formatLibrary,
  selectorsLibrary,
  twoVariableLibrary,
  semverLibrary,
  listExtensionLibrary,
]

const made = new Map<ExpressionAge, Env>()

/** The environment; it is built at first use. */
export function baseEnv(age: ExpressionAge): Env {
  const known = made.get(age)
  if (known) return known
  const all = age === 'stored' ? [...libraries, includesLibrary] : libraries
  const env = createEnv(
    all.map(library => library()),
    { crossTypeNumericComparisons: true },
  )
  made.set(age, env)
  return env
}

/** The cost limit of one expression at run time. */
export const MAX_CALL_COST = 1_000_000
