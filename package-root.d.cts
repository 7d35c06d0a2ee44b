/**
 * The folder of this package, for files that are read at run time. In a bundle, this is another folder without these
 * files.
 */
export declare const PACKAGE_ROOT: string;
