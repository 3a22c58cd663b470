# As much of conda as activating an environment needs. Sourced by the shell that activates.
CONDA_EXE=/opt/miniconda3/bin/conda
export CONDA_EXE

conda() {
    case "${1:-}" in
        activate)
            if [ ! -d "/opt/miniconda3/envs/${2:-}" ] || [ -z "${2:-}" ]; then
                echo "EnvironmentNameNotFound: Could not find conda environment: ${2:-}" >&2
                return 1
            fi
            [ -z "${CONDA_PREFIX:-}" ] || conda deactivate
            CONDA_PREFIX=/opt/miniconda3/envs/$2
            CONDA_DEFAULT_ENV=$2
            PATH=$CONDA_PREFIX/bin:$PATH
            export CONDA_PREFIX CONDA_DEFAULT_ENV PATH
            ;;
        deactivate)
            PATH=${PATH#"${CONDA_PREFIX:-}"/bin:}
            unset CONDA_PREFIX CONDA_DEFAULT_ENV
            ;;
        *)
            echo "conda: unknown command ${1:-}" >&2
            return 2
            ;;
    esac
    hash -r
}
