/**
 * The folder of this package, for files that are read at run time. In a bundle it is another folder, which has
 * none of them.
 */
export declare const PACKAGE_ROOT: string;
