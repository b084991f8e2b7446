/** How code of a language without a kernel is made into a program and run; each run is a process of its own. */
export interface CompiledLanguage {
  /** What the code is written to. */
  readonly file: string | ((code: string) => string);
  /** What the image must have. */
  readonly programs: readonly string[];
  /** Debian's packages that have them. */
  readonly packages: string;
  /** Compiles in the folder of the file; absent where nothing is compiled. */
  readonly compile?: (file: string) => readonly string[];
  /** Runs what came of it, with the working folder as it is and the file's folder known. */
  readonly run: (folder: string, file: string) => readonly string[];
}

/** The languages that are compiled or run anew each time, by name. */
export const COMPILED_LANGUAGES = {
  c: {
    file: "main.c",
    programs: ["gcc"],
    packages: "gcc libc6-dev",
    compile: (file) => ["gcc", "-std=gnu17", "-O1", "-g", "-Wall", "-o", "program", file, "-lm"],
    run: (folder) => [`${folder}/program`],
  },
  cpp: {
    file: "main.cpp",
    programs: ["g++"],
    packages: "g++",
    compile: (file) => ["g++", "-std=c++20", "-O1", "-g", "-Wall", "-o", "program", file],
    run: (folder) => [`${folder}/program`],
  },
  go: {
    file: "main.go",
    programs: ["go"],
    packages: "golang-go",
    compile: (file) => ["env", "GO111MODULE=off", "GOFLAGS=-buildvcs=false", "go", "build", "-o", "program", file],
    run: (folder) => [`${folder}/program`],
  },
  rust: {
    file: "main.rs",
    programs: ["rustc"],
    packages: "rustc",
    compile: (file) => ["rustc", "--edition", "2021", "-C", "debuginfo=1", "-o", "program", file],
    run: (folder) => [`${folder}/program`],
  },
  java: {
    file: (code) => `${mainClassOf(code)}.java`,
    programs: ["javac", "java"],
    packages: "default-jdk-headless",
    compile: (file) => ["javac", "-J-Xmx128m", "-d", ".", file],
    // The machine reads its memory limit from the cgroup, which not every sandbox has.
    run: (folder, file) => ["java", "-Xmx128m", "-XX:+UseSerialGC", "-cp", folder, file.replace(/\.java$/, "")],
  },
  r: {
    file: "main.R",
    programs: ["Rscript"],
    packages: "r-base-core",
    run: (folder, file) => ["Rscript", `${folder}/${file}`],
  },
  ruby: { file: "main.rb", programs: ["ruby"], packages: "ruby", run: (folder, file) => ["ruby", `${folder}/${file}`] },
  php: {
    file: "main.php",
    programs: ["php"],
    packages: "php-cli",
    run: (folder, file) => ["php", `${folder}/${file}`],
  },
  perl: { file: "main.pl", programs: ["perl"], packages: "perl", run: (folder, file) => ["perl", `${folder}/${file}`] },
} as const satisfies Readonly<Record<string, CompiledLanguage>>;

export type CompiledLanguageName = keyof typeof COMPILED_LANGUAGES;

/** The class that Java asks its file to be named for: the public one, else the one with `main`, else the first. */
function mainClassOf(code: string): string {
  const plain = code.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, "");
  const named = /\bpublic\s+(?:final\s+|abstract\s+)*(?:class|record|enum|interface)\s+(\w+)/.exec(plain)?.[1];
  const beforeMain = plain.slice(0, Math.max(0, plain.search(/\bstatic\s+(?:final\s+)?void\s+main\b/)));
  const nearest = [...beforeMain.matchAll(/\b(?:class|record|enum|interface)\s+(\w+)/g)].at(-1)?.[1];
  return named ?? nearest ?? /\b(?:class|record|enum)\s+(\w+)/.exec(plain)?.[1] ?? "Main";
}
